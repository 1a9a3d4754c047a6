// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package harness

import (
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc/encoding"
)

// RegisterCompressors makes each sink of the process receive gRPC messages that are compressed with snappy and zstd. gzip is always received.
// Call it before the first sink serves gRPC.
func RegisterCompressors() {
	encoding.RegisterCompressor(compressor{
		name:       "snappy",
		compress:   func(w io.Writer) (io.WriteCloser, error) { return snappy.NewBufferedWriter(w), nil },
		decompress: func(r io.Reader) (io.Reader, error) { return snappy.NewReader(r), nil },
	})
	encoding.RegisterCompressor(compressor{
		name:     "zstd",
		compress: func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
		decompress: func(r io.Reader) (io.Reader, error) {
			decoder, err := zstd.NewReader(r)
			if err != nil {
				return nil, err
			}
			return decoder.IOReadCloser(), nil
		},
	})
}

// compressor is a compression of gRPC.
type compressor struct {
	name       string
	compress   func(io.Writer) (io.WriteCloser, error)
	decompress func(io.Reader) (io.Reader, error)
}

func (c compressor) Name() string                                 { return c.name }
func (c compressor) Compress(w io.Writer) (io.WriteCloser, error) { return c.compress(w) }
func (c compressor) Decompress(r io.Reader) (io.Reader, error)    { return c.decompress(r) }
