// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// readPCIe reads the link as it is now, and what went wrong on it. The bandwidth is left out: it is what the firmware measured in the last
// moment, or a sum of such values, and no count of bytes.
func readPCIe(r record, d *gpu.Device) {
	pcie := r.section("pcie")
	d.PCIe.Generation = smitext.PCIeGeneration(pcieSpeed(pcie.first("speed", "pcie_speed", "current_speed"))).Or(d.PCIe.Generation)
	d.PCIe.Width = smitext.LinkWidth(pcie.first("width", "pcie_lanes", "current_width")).Or(d.PCIe.Width)
	replays := pcie.first("replay_count")
	if replays == nil {
		replays = r["replay_count"] // 5.7
	}
	if n := smitext.Quantity(replays, smitext.Count, ""); !d.PCIe.Replays.Known() {
		d.PCIe.Replays = smitext.Total(n)
	}
	for key, target := range map[string]*gpu.Counter[int64]{
		"l0_to_recovery_count": &d.PCIe.Recoveries, "replay_roll_over_count": &d.PCIe.ReplayRollovers,
		"nak_sent_count": &d.PCIe.NAKsTransmitted, "nak_received_count": &d.PCIe.NAKsReceived,
	} {
		if n := smitext.Total(smitext.Quantity(pcie[key], smitext.Count, "")); n.Known() {
			*target = n
		}
	}
}

// pcieSpeed returns the speed of a lane. Values without a unit are in MT/s until 6.0, in GT/s later; no link is as fast
// as 1000 GT/s nor as slow as 1000 MT/s.
func pcieSpeed(v any) gpu.Opt[float64] {
	unitless := "GT/s"
	if n, _, ok := smitext.NumberOf(v); ok && n >= 1000 {
		unitless = "MT/s"
	}
	return smitext.Quantity(v, smitext.Transfers, unitless)
}
