// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"math"
	"path/filepath"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/pci"
)

func readPCIe(r *reader, want gpu.Group, table *gpumetrics.Table, d *gpu.Device) {
	if want.Has(gpu.GroupPCIeLink) {
		readPCIeLink(r, table, &d.PCIe)
	}
	if want.Has(gpu.GroupPCIeReplay) {
		replays := table.PCIe.Replays
		if v, ok := r.number("PCIe replays", "pcie_replay_count").Get(); ok {
			replays = gpu.Some(uint64(v))
		}
		d.PCIe.Replays = pcieCount(replays)
	}
	if want.Has(gpu.GroupPCIeDetail) {
		d.PCIe.ReplayRollovers, d.PCIe.Recoveries = pcieCount(table.PCIe.Rollovers), pcieCount(table.PCIe.Recoveries)
		d.PCIe.NAKsTransmitted, d.PCIe.NAKsReceived = pcieCount(table.PCIe.NAKsSent), pcieCount(table.PCIe.NAKsReceived)
	}
}

// pcieCount converts a count. It comes from registers of 32 bits, and the driver may add up two of them. They read as ones when the GPU is off
// the bus.
func pcieCount(n gpu.Opt[uint64]) gpu.Counter[int64] {
	v, ok := n.Get()
	if !ok || v >= math.MaxUint32 {
		return gpu.Counter[int64]{}
	}
	return gpu.Total(int64(v))
}

func readPCIeLink(r *reader, table *gpumetrics.Table, p *gpu.PCIe) {
	dir := linkDir(r)
	generation := func(name string) gpu.Opt[int64] {
		text, _ := r.fileIn(dir, "PCIe link", name)
		return parseLinkSpeed(text)
	}
	width := func(name string) gpu.Opt[int64] {
		text, _ := r.fileIn(dir, "PCIe link", name)
		lanes, _ := sysfs.ParseUint(text)
		return plausible.PCIeWidth(lanes)
	}
	p.Generation = generation("current_link_speed").Or(table.LinkGen)
	p.GenerationLimit = generation("max_link_speed")
	p.Width = width("current_link_width").Or(table.LinkWidth)
	p.WidthLimit = width("max_link_width")
}

// linkDir returns the directory of the PCI function at which the GPU's link to the host ends. On boards with a PCIe switch of their own,
// whose ports are AMD's too, it is the directory of the switch: behind the switch the link always has its maximum speed and width.
func linkDir(r *reader) string {
	dir := r.dir
	for {
		parent := filepath.Dir(dir)
		if !scan.IsPCIAddress(filepath.Base(parent)) {
			return dir
		}
		text, err := sysfs.Read(parent + "/vendor")
		r.note(err)
		if v, ok := sysfs.ParseHex(string(text)); !ok || v != pci.VendorAMD {
			return dir
		}
		dir = parent
	}
}

// parseLinkSpeed returns the generation of a link: of "16.0 GT/s PCIe" or, in older kernels, "16 GT/s".
func parseLinkSpeed(text string) gpu.Opt[int64] {
	words := strings.Fields(text)
	if len(words) < 2 || words[1] != "GT/s" {
		return gpu.Opt[int64]{}
	}
	whole, fraction, _ := strings.Cut(words[0], ".")
	if fraction == "" {
		fraction = "0"
	}
	tenths, ok := sysfs.ParseUint(whole + fraction)
	if !ok || len(fraction) != 1 {
		return gpu.Opt[int64]{}
	}
	return plausible.PCIeGeneration(tenths)
}
