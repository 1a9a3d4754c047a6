// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const badPage = "0x00012345 : 0x00001000 : R\n"

func TestBadPages(t *testing.T) {
	for text, want := range map[string]gpu.Opt[int64]{
		"": gpu.Some[int64](0), badPage: gpu.Some[int64](1), badPage + "0x00012346 : 0x00001000 : P\n": gpu.Some[int64](2),
		strings.Repeat(badPage, 144): gpu.Some[int64](144), strings.Repeat(badPage, 146): {}, "garbage": {}, badPage + "\n": {},
	} {
		r := &reader{readFile: func(string) ([]byte, error) { return []byte(text), nil }}
		assert.Equal(t, want, readBadPages(r), "%d bytes", len(text))
		_, ok := countBadPages(text)
		assert.Equal(t, !ok, len(r.problems) == 1, "%.40s", text)
	}
	for err, problems := range map[error]int{syscall.ENOENT: 0, syscall.EACCES: 1, syscall.EIO: 1} {
		r := &reader{readFile: func(string) ([]byte, error) { return nil, err }}
		assert.Empty(t, readBadPages(r), "%v", err)
		assert.Len(t, r.problems, problems, "%v", err)
	}
}

func FuzzBadPages(f *testing.F) {
	f.Add(badPage)
	f.Add("0x : : \n")
	f.Fuzz(func(t *testing.T, text string) {
		n, ok := countBadPages(text)
		if count, known := n.Get(); known {
			assert.True(t, ok)
			assert.LessOrEqual(t, count, int64(len(text)))
			assert.GreaterOrEqual(t, count, int64(0))
		}
	})
}
