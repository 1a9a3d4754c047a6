// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"cmp"
	"slices"
	"strings"
	"syscall"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	maxRASFiles  = 1024
	maxRASBlocks = 64
)

// rasBlock is the file with the error counts of one IP block.
type rasBlock struct{ name, file string }

// readErrorCounts reads the error counts of the IP blocks (RAS).
func readErrorCounts(r *reader, d *gpu.Device) {
	for _, block := range findRASBlocks(r) {
		text, ok := r.file("errors", block.file)
		if !ok {
			continue
		}
		if strings.HasPrefix(text, "Query currently inaccessible") {
			r.refuse("errors", block.file, syscall.EBUSY)
			continue
		}
		counts := parseErrorCounts(block.name, text)
		if len(counts) == 0 {
			r.garbled("errors", block.file)
		}
		d.Errors = append(d.Errors, counts...)
	}
}

// findRASBlocks returns the IP blocks with error counts in umc_err_count, or in aca_umc, which replaces it in later drivers for MI300 and
// its successors.
func findRASBlocks(r *reader) []rasBlock {
	names, err := sysfs.Names(r.dir+"/ras", maxRASFiles)
	r.note(err)
	var blocks []rasBlock
	for _, file := range names {
		name, ok := strings.CutSuffix(file, "_err_count")
		if !ok {
			name, ok = strings.CutPrefix(file, "aca_")
		}
		if ok {
			blocks = append(blocks, rasBlock{strings.ToLower(name), "ras/" + file})
		}
	}
	slices.SortFunc(blocks, func(a, b rasBlock) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.file, b.file))
	})
	blocks = slices.CompactFunc(blocks, func(a, b rasBlock) bool { return a.name == b.name })
	return blocks[:min(len(blocks), maxRASBlocks)]
}

// parseErrorCounts parses "ue: 0\nce: 3\nde: 1\n": uncorrected, corrected and, with newer drivers, deferred errors.
func parseErrorCounts(block, text string) []gpu.ErrorCount {
	var counts []gpu.ErrorCount
	for line := range strings.Lines(text) {
		key, number, _ := strings.Cut(line, ":")
		n, ok := sysfs.ParseUint(number)
		if !ok || n > 1<<62 {
			continue
		}
		var kind gpu.ErrorType
		switch strings.TrimSpace(key) {
		case "ue":
			kind = gpu.ErrorUncorrected
		case "ce":
			kind = gpu.ErrorCorrected
		case "de":
			kind = gpu.ErrorDeferred
		default:
			continue
		}
		counts = append(counts, gpu.ErrorCount{Type: kind, Block: block, Count: gpu.Total(int64(n))})
	}
	return counts
}
