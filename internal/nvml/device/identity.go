// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Identity identifies a GPU or a MIG instance, without readings. It never changes after it was handed out.
type Identity struct {
	ID, Name, Model, Parent      string
	Index                        gpu.Opt[int]
	Info                         gpu.Info
	GPUInstance, ComputeInstance gpu.Opt[int] // of a MIG instance
}

// Device returns a device that has the identity and nothing else.
func (i *Identity) Device() gpu.Device {
	return gpu.Device{
		ID: i.ID, Name: i.Name, Model: i.Model, Parent: i.Parent, Vendor: gpu.NVIDIA, Index: i.Index, Info: i.Info,
		GPUInstance: i.GPUInstance, ComputeInstance: i.ComputeInstance,
	}
}

// place sets a MIG instance's id and its name, which is its place on the GPU: nvidia0/gi3/ci0.
//
// The id is the instance's UUID. Before driver 470 the UUID consisted of the GPU's and the place on it, as MIG-GPU-<uuid>/<gpu
// instance>/<compute instance>; without the prefix that is hw.id if the UUID is unknown.
func (i *Identity) place(uuid string, parent *Identity) {
	gi, known := i.GPUInstance.Get()
	ci, knownToo := i.ComputeInstance.Get()
	known = known && knownToo
	if known && parent.Name != "" {
		i.Name = parent.Name + "/gi" + strconv.Itoa(gi) + "/ci" + strconv.Itoa(ci)
	}
	old, isOld := strings.CutPrefix(uuid, "MIG-")
	switch {
	case isOld && strings.HasPrefix(old, "GPU-"):
		i.ID = old
	case uuid == "" && known:
		i.ID = parent.ID + "/" + strconv.Itoa(gi) + "/" + strconv.Itoa(ci)
	default:
		i.ID = uuid
	}
}

// inherit sets what an instance has of its GPU.
func (i *Identity) inherit(parent *Identity) {
	own := i.Info.Profile
	i.Model, i.Parent, i.Info = parent.Model, parent.ID, parent.Info
	i.Info.Profile = own
	i.Info.FabricClique, i.Info.FabricCluster = "", "" // of whole GPUs
}

// Name is the name of the device file with that minor number.
func Name(minor int) string { return "nvidia" + strconv.Itoa(minor) }

// migProfile is the last part of a MIG instance's name: 3g.40gb of "NVIDIA H100 80GB HBM3 MIG 3g.40gb".
func migProfile(name string) string {
	_, profile, _ := strings.Cut(name, " MIG ")
	return profile
}

// PCIAddress writes a PCI address as the kernel does: 0000:1b:00.0.
func PCIAddress(domain, bus, device, function uint64) string {
	return hex(domain, 4) + ":" + hex(bus, 2) + ":" + hex(device, 2) + "." + strconv.FormatUint(function, 16)
}

func hex(v uint64, digits int) string {
	s := strconv.FormatUint(v, 16)
	return strings.Repeat("0", max(digits-len(s), 0)) + s
}

// enabled is the text of a mode that is on or off.
func enabled(mode bool) string {
	if mode {
		return "enabled"
	}
	return "disabled"
}

// brands are the values of nvmlBrandType_t.
var brands = [...]string{
	1: "quadro", 2: "tesla", 3: "nvs", 4: "grid", 5: "geforce", 6: "titan", 7: "nvidia_vapps", 8: "nvidia_vpc", 9: "nvidia_vcs", 10: "nvidia_vws",
	11: "nvidia_cloud_gaming", 12: "quadro_rtx", 13: "nvidia_rtx", 14: "nvidia", 15: "geforce_rtx", 16: "titan_rtx",
}

// architectures are the values of nvmlDeviceArchitecture_t.
var architectures = [...]string{
	2: "kepler", 3: "maxwell", 4: "pascal", 5: "volta", 6: "turing", 7: "ampere", 8: "ada", 9: "hopper", 10: "blackwell", 13: "rubin",
}

// computeModes are the values of nvmlComputeMode_t.
var computeModes = [...]string{"default", "exclusive_thread", "prohibited", "exclusive_process"}

// virtualizationModes are the values of nvmlGpuVirtualizationMode_t.
var virtualizationModes = [...]string{"none", "pass_through", "vgpu", "host_vgpu", "host_vsga"}

// enableStates are the values of nvmlEnableState_t.
var enableStates = [...]string{"disabled", "enabled"}

// word returns the word for a value; empty if there is none.
func word(words []string, value int64) string {
	if value < 0 || value >= int64(len(words)) {
		return ""
	}
	return words[value]
}
