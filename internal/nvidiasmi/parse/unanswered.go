// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// noReadings are the quantities whose text says nothing about whether the GPU can be read. The driver may know what identifies it without
// the GPU. If it has no power limit, the tool prints uninitialised memory.
var noReadings = []string{
	"name", "uuid", "serial", "vbios_version", "minor_number", "index", "pci.bus_id", "compute_cap", "mig.mode", "count",
	"enforced.power.limit", "power.limit", "power.max_limit", "power.min_limit", "power.default_limit",
	"brand", "architecture", "board_part_number", "inforom.img", "virtualization_mode", "persistence_mode", "license_status",
}

// minRefused is how many readings must be refused for a GPU to be taken for unreachable.
const minRefused = 2

// minAbsent is how many readings must be absent, the size of the memory among them, for a GPU to be taken for silent.
const minAbsent = 4

// unanswered returns the error that the tool printed instead of every reading of a GPU. It returns "" if there is a reading, or too few
// were queried to decide.
func unanswered(g *GPU) string {
	reason, refused := "", 0
	for _, r := range g.Refusals {
		switch {
		case slices.Contains(noReadings, r.Quantity):
		case r.NoPermission(), !isErrorString([]byte(r.Reason)):
			return "" // a permission is missing, or the driver answered and the number is not understood
		default:
			reason = r.Reason
			refused++
		}
	}
	if refused < minRefused || hasReading(&g.Device) {
		return ""
	}
	for i := range g.MIGDevices {
		if m := &g.MIGDevices[i]; m.Memory.Limit.Known() || m.Memory.Usage.Known() {
			return ""
		}
	}
	return reason
}

// hasReading reports whether a reading of a GPU is known. Used memory of 0 does not count: the tool may print it if the driver answers with
// an error.
func hasReading(d *gpu.Device) bool {
	numbers := slices.Concat(d.Utilization[:], d.Temperature[:], d.TemperatureMargin[:],
		[]gpu.Opt[float64]{d.MemoryController, d.Power.Draw, d.Power.Instant, d.Power.Module})
	for i := range d.TemperatureLimit {
		numbers = append(numbers, d.TemperatureLimit[i][:]...)
	}
	for _, c := range d.Clocks {
		numbers = append(numbers, c.Speed, c.Limit)
	}
	usage, _ := d.Memory.Usage.Get()
	integers := []gpu.Opt[int64]{
		d.Memory.Limit, d.Memory.Reserved, d.Memory.Protected, d.PerformanceState,
		d.PCIe.Generation, d.PCIe.GenerationLimit, d.PCIe.Width, d.PCIe.WidthLimit,
	}
	totals := []gpu.Counter[int64]{
		d.PCIe.Replays, d.RemappedRows.Corrected, d.RemappedRows.Uncorrected, d.RetiredPages.Corrected, d.RetiredPages.Uncorrected,
	}
	flags := []gpu.Opt[bool]{d.RemappedRows.Pending, d.RemappedRows.Failed, d.RetiredPages.Pending}
	integers = append(integers, d.MemoryBanks[:]...)
	for _, t := range d.Throttle {
		flags = append(flags, t.Active)
	}
	return usage > 0 || len(d.Fans)+len(d.Errors) > 0 || d.RecoveryAction.Known() || slices.ContainsFunc(numbers, gpu.Opt[float64].Known) ||
		slices.ContainsFunc(integers, gpu.Opt[int64].Known) || slices.ContainsFunc(totals, gpu.Counter[int64].Known) ||
		slices.ContainsFunc(flags, gpu.Opt[bool].Known)
}
