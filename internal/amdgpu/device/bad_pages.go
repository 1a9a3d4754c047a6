// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	badPagesFile = "ras/gpu_vram_bad_pages"
	// fullAnswer is from how many bytes on an answer may have been cut: the driver gives whole lines of 28 bytes, and no more than a page of them.
	fullAnswer = 4096 - 64
)

// readBadPages returns the number of bad pages of the memory. The file has a line for each, "0x00012345 : 0x00001000 : R", and is empty where
// there is none.
func readBadPages(r *reader) gpu.Opt[int64] {
	text, err := r.plain(badPagesFile)
	if err != nil {
		r.refuse("bad pages", badPagesFile, err)
		return gpu.Opt[int64]{}
	}
	n, ok := countBadPages(text)
	if !ok {
		r.garbled("bad pages", badPagesFile)
	}
	return n
}

// countBadPages counts the lines, and reports whether all of them are such lines. The number is absent where lines may have been cut off.
func countBadPages(text string) (n gpu.Opt[int64], ok bool) {
	lines := int64(0)
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "0x") || strings.Count(line, " : ") != 2 {
			return gpu.Opt[int64]{}, false
		}
		lines++
	}
	if len(text) > fullAnswer {
		return gpu.Opt[int64]{}, true
	}
	return gpu.Some(lines), true
}
