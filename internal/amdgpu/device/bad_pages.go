// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"math"
	"path/filepath"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	badPagesFile = "ras/gpu_vram_bad_pages"
	// fullAnswer is from how many bytes on an answer may go on: a read gives whole lines of 28 bytes, and no more than a page of them.
	fullAnswer = 4096 - 64
	// maxBadPages bounds the list in bytes. The GPU's own memory has room for some ten thousand pages.
	maxBadPages = 512 << 10
)

// badPages follows the bad pages of the memory. The limit does not change while the driver keeps the GPU.
type badPages struct{ limit gpu.Opt[int64] }

// read reads the number of bad pages, and the number at which the GPU should be replaced. A GPU without the list has neither.
func (b *badPages) read(r *reader, root, card string, d *gpu.Device) {
	text, err := r.plain(badPagesFile)
	if err == nil && len(text) > fullAnswer {
		var all []byte
		all, err = sysfs.ReadList(filepath.Join(r.dir, badPagesFile), maxBadPages)
		text = string(all)
	}
	if err != nil {
		r.refuse("bad pages", badPagesFile, err)
		return
	}
	n, ok := countBadPages(text)
	if !ok {
		r.garbled("bad pages", badPagesFile)
	}
	d.RetiredPages.Bad = n
	if !b.limit.Known() {
		b.limit = readBadPageLimit(r, root, card)
	}
	d.RetiredPages.BadLimit = b.limit
}

// countBadPages counts the pages in text: one a line, such as "0x00012345 : 0x00001000 : R". It reports whether all lines have this form.
func countBadPages(text string) (n gpu.Opt[int64], ok bool) {
	lines := int64(0)
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "0x") || strings.Count(line, " : ") != 2 {
			return gpu.Opt[int64]{}, false
		}
		lines++
	}
	return gpu.Some(lines), true
}

// readBadPageLimit reads at how many bad pages the driver says that the GPU should be replaced (bad_page_cnt_threshold). It reads debugfs,
// usually readable by root only. Otherwise it reads the parameter of the driver, which is a number of pages if an operator has set it. Without
// the parameter, the driver computes the limit from the memory that it has reserved. It shows that limit in debugfs only.
func readBadPageLimit(r *reader, root, card string) gpu.Opt[int64] {
	number, ok := strings.CutPrefix(card, "card")
	if ok {
		limit := badPageLimit(r, filepath.Join(root, "sys/kernel/debug/dri", number, "ras/bad_page_cnt_threshold"))
		if limit.Known() {
			return limit
		}
	}
	return badPageLimit(r, filepath.Join(root, "sys/module", scan.DriverName, "parameters/bad_page_threshold"))
}

// badPageLimit reads a limit. An operator sets 0 for no limit, and negative numbers to let the driver choose.
func badPageLimit(r *reader, path string) gpu.Opt[int64] {
	text, err := r.readFile(path)
	r.note(err)
	n, ok := sysfs.ParseInt(string(text))
	if err != nil || !ok || n < 1 || n >= math.MaxInt32 {
		return gpu.Opt[int64]{}
	}
	return gpu.Some(n)
}
