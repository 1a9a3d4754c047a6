// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// migDevices returns the MIG devices of a GPU and sets their IDs in g. k is what is known about the GPU, or nil. A GPU that is
// unreadable, or needs a reset and is listed without a MIG device, has the MIG devices that it had before.
func migDevices(g *parse.GPU, k *knownGPU, list *deviceList, out *output) (devices []gpu.Device) {
	parent := &g.Device
	var before []gpu.Device
	if k != nil {
		before = k.Devices[1:]
	}
	if (g.Unreadable || g.ResetRequired && len(g.MIGDevices) == 0) && g.MIGEnabled != gpu.Some(false) {
		for _, d := range before {
			d.ProcessesUnread = true
			inheritFaults(&d, parent)
			devices = append(devices, d)
		}
		return devices
	}
	if out.migUnread && g.MIGEnabled != gpu.Some(false) {
		for _, d := range before {
			d.ProcessesUnread, d.Unread = true, true
			devices = append(devices, d)
		}
		return devices
	}
	if listed := len(list.mig[parent.ID]); listed > len(g.MIGDevices) {
		out.problem(gpu.ProblemQuantity, parent.ID, "MIG devices", fmt.Errorf("nvidia-smi -q -x: %d of the %d MIG devices of %s that nvidia-smi -L lists are missing, "+
			"and so are their processes; the tool omits a MIG device if it cannot read one of its values (ECC errors if ECC is off): use the nvml scraper",
			listed-len(g.MIGDevices), listed, parent.ID))
	}
	for i := range g.MIGDevices {
		m := &g.MIGDevices[i]
		listed := list.migDevice(g, i, before)
		m.UUID = migID(parent, m, listed)
		if m.UUID == "" {
			out.problem(gpu.ProblemQuantity, parent.ID, "MIG devices",
				fmt.Errorf("nvidia-smi -q -x: MIG device %s of %s shows neither a UUID nor the ids of its instances; it is omitted", number(m.Index), parent.ID))
			continue
		}
		d := gpu.Device{
			ID: m.UUID, Name: migName(parent.Name, m), Model: parent.Model, Vendor: gpu.NVIDIA, Parent: parent.ID,
			Index: asInt(m.Index), CurrentIndex: asInt(m.Index), Epoch: parent.Epoch, Info: parent.Info, GPUInstance: asInt(m.GI), ComputeInstance: asInt(m.CI),
		}
		d.Info.Profile = cmp.Or(listed.Profile, m.Profile)
		d.Memory = m.Memory
		d.ProcessesUnread = parent.ProcessesUnread
		if n, ok := m.Uncorrected.Get(); ok {
			d.Errors = []gpu.ErrorCount{{Type: gpu.ErrorUncorrected, Count: gpu.Total(n)}}
			d.ECC.Memory[gpu.MemorySRAM][gpu.ErrorUncorrected] = gpu.Total(n)
		}
		inheritFaults(&d, parent)
		devices = append(devices, d)
	}
	return devices
}

// migID returns the UUID of a MIG device, or its place on its GPU if the UUID is unknown, or "".
func migID(parent *gpu.Device, m *parse.MIGDevice, listed parse.ListedMIGDevice) string {
	if strings.HasPrefix(m.UUID, "MIG-") && !strings.HasPrefix(m.UUID, "MIG-GPU-") {
		return m.UUID
	}
	if listed.UUID != "" {
		return listed.UUID
	}
	gi, ok := m.GI.Get()
	ci, also := m.CI.Get()
	if !ok || !also || parent.ID == "" {
		return ""
	}
	return fmt.Sprintf("%s/%d/%d", parent.ID, gi, ci)
}

// migName returns the name of a MIG device, which is its place on its GPU: nvidia0/gi3/ci0. It is empty if the GPU has no name.
func migName(parent string, m *parse.MIGDevice) string {
	if parent == "" {
		return ""
	}
	if !m.GI.Known() || !m.CI.Known() {
		return parent + "/mig" + number(m.Index)
	}
	return parent + "/gi" + number(m.GI) + "/ci" + number(m.CI)
}

// inheritFaults gives a MIG device the faults by which its GPU has failed.
func inheritFaults(d, parent *gpu.Device) {
	for _, f := range parent.Faults {
		if f.Type.State() == gpu.StateFailed {
			d.AddFault(f.Type, "the GPU: "+f.Message)
		}
	}
}
