// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// identity is what a device is, as opposed to how it fares. It is read once, and never changed after it was handed out.
type identity struct {
	id, name, model, parent string
	index                   gpu.Opt[int]
	info                    gpu.Info
	gi, ci                  gpu.Opt[int] // of a MIG instance
}

// describe puts the identity into a device.
func (i *identity) describe(d *gpu.Device) {
	d.ID, d.Name, d.Model, d.Parent = i.id, i.name, i.model, i.parent
	d.Vendor = gpu.NVIDIA
	d.Index = i.index
	d.Info = i.info
	d.GPUInstance, d.ComputeInstance = i.gi, i.ci
}

// identify describes a GPU for which NVML gives no handle by what the kernel's driver says of it.
func (i information) identify() *identity {
	ident := &identity{id: i.uuid, model: i.model, info: gpu.Info{PCIAddress: i.address, FirmwareVersion: i.vbios}}
	if minor, ok := i.minor.Get(); ok {
		ident.name = deviceName(minor)
	}
	return ident
}

// text makes valid UTF-8 of what the driver says: OTLP takes nothing else, and a back end refuses the whole message for one byte.
// Drivers have told what lay in their memory as a name (555.85 under WSL).
func text(said string) string { return strings.ToValidUTF8(said, "\uFFFD") }

func deviceName(minor int) string { return "nvidia" + strconv.Itoa(minor) }

// place gives a MIG instance its id and its name, which is after its place on the GPU: nvidia0/gi3/ci0.
//
// The id is the instance's UUID. Before driver 470 that named the GPU and the place on it, as
// MIG-GPU-<uuid>/<gpu instance>/<compute instance>; without the prefix that is what hw.id is where no UUID is known.
func (i *identity) place(uuid string, parent *identity) {
	gi, known := i.gi.Get()
	ci, knownToo := i.ci.Get()
	known = known && knownToo
	if known && parent.name != "" {
		i.name = parent.name + "/gi" + strconv.Itoa(gi) + "/ci" + strconv.Itoa(ci)
	}
	old, isOld := strings.CutPrefix(uuid, "MIG-")
	switch {
	case isOld && strings.HasPrefix(old, "GPU-"):
		i.id = old
	case uuid == "" && known:
		i.id = parent.id + "/" + strconv.Itoa(gi) + "/" + strconv.Itoa(ci)
	default:
		i.id = uuid
	}
}

// profile is the partition's shape, the last part of a MIG instance's name: "NVIDIA H100 80GB HBM3 MIG 3g.40gb".
func profile(name string) string {
	_, p, ok := strings.Cut(name, " MIG ")
	if !ok {
		return ""
	}
	return p
}

func numaNode(written string) gpu.Opt[int64] {
	n, err := strconv.ParseInt(written, 10, 64)
	if err != nil || n < 0 { // -1: none
		return gpu.Opt[int64]{}
	}
	return gpu.Some(n)
}
