// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// errorKeys are what the counts of a block, and the totals of a device, are called.
var errorKeys = [...]struct {
	kind gpu.ErrorType
	keys []string
}{
	{gpu.ErrorCorrected, []string{"correctable_count", "correctable", "total_correctable_count"}},
	{gpu.ErrorUncorrected, []string{"uncorrectable_count", "uncorrectable", "total_uncorrectable_count"}},
	{gpu.ErrorDeferred, []string{"deferred_count", "deferred", "total_deferred_count"}},
}

// readErrors reads the RAS counts by block, or if they are missing the totals: never both, which would count twice.
func readErrors(r record, d *gpu.Device) {
	blocks := r.section("ecc_blocks")
	if blocks == nil {
		blocks = r.section("ecc_block") // 5.7
	}
	names := make([]string, 0, len(blocks))
	for name := range blocks {
		names = append(names, name)
	}
	slices.Sort(names)
	names = names[:min(len(names), smidevice.MaxBlocks)]
	before := len(d.Errors)
	for _, name := range names {
		appendErrors(d, blocks.section(name), strings.ToLower(smitext.Label(name)))
	}
	if len(d.Errors) == before {
		appendErrors(d, r.section("ecc"), "")
	}
}

func appendErrors(d *gpu.Device, counts record, block string) {
	for _, e := range errorKeys {
		if n := smitext.Quantity(counts.first(e.keys...), smitext.Count, ""); n.Known() {
			d.Errors = append(d.Errors, gpu.ErrorCount{Type: e.kind, Block: block, Count: smitext.Total(n)})
		}
	}
}

// dropZeroErrors removes the counts of memory errors of a GPU that does not count them, for which the tool prints totals of 0. A count
// above 0 shows that the GPU does count.
func dropZeroErrors(d *gpu.Device) {
	for _, e := range d.Errors {
		if n, _ := e.Count.Get(); n > 0 || e.Block != "" {
			return
		}
	}
	d.Errors = nil
}
