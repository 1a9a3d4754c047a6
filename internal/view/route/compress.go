// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"net/http"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// minCompressed is the length from which an answer is compressed, in bytes. A shorter one fits into one packet.
const minCompressed = 1024

// Compress compresses the answers of a handler for clients that accept gzip, at the level that takes the least time and memory. It is for
// handlers whose entity tags are weak: both encodings of an answer have the same one. Streams are not compressed.
func Compress(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.EnableZstd(false),
		gzhttp.ExceptContentTypes([]string{EventStream}))
	if err != nil {
		panic(err) // the options are constant
	}
	return wrap(next)
}
