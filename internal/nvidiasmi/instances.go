// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// addInstances adds a GPU's MIG devices and gives each its id.
func (r *Reader) addInstances(g *parse.GPU, k *known, away bool) {
	parent := &g.Device
	if away && g.MIGEnabled != gpu.Some(false) {
		for _, d := range k.instances {
			d.ProcessesUnread = true
			r.inherit(&d, parent)
			r.node.Devices = append(r.node.Devices, d)
		}
		return
	}
	if listed := len(r.listing.mig[parent.ID]); listed > len(g.MIGDevices) {
		r.problem(gpu.ProblemQuantity, parent.ID, "MIG devices", fmt.Errorf("nvidia-smi -q -x: it leaves out %d of the %d MIG devices of %s that nvidia-smi -L lists, "+
			"and their processes are not told; it does where one of their numbers cannot be read (ECC errors where ECC is off): use the nvml scraper",
			listed-len(g.MIGDevices), listed, parent.ID))
	}
	before := slices.Clone(k.instances)
	k.instances = k.instances[:0]
	for i := range g.MIGDevices {
		m := &g.MIGDevices[i]
		listed := r.listing.instance(g, i, before)
		m.UUID = r.instanceID(parent, m, listed)
		if m.UUID == "" {
			continue
		}
		d := gpu.Device{
			ID: m.UUID, Name: instanceName(parent.Name, m), Model: parent.Model, Vendor: gpu.NVIDIA, Parent: parent.ID,
			Index: asInt(m.Index), Epoch: parent.Epoch, Info: parent.Info, GPUInstance: asInt(m.GI), ComputeInstance: asInt(m.CI),
		}
		d.Info.Profile = firstOf(listed.Profile, m.Profile)
		k.instances = append(k.instances, d)
		d.Memory = m.Memory
		d.ProcessesUnread = parent.ProcessesUnread
		if n, ok := m.Uncorrected.Get(); ok {
			d.Errors = []gpu.ErrorCount{{Type: gpu.ErrorUncorrected, Count: gpu.Total(n)}}
		}
		r.inherit(&d, parent)
		r.node.Devices = append(r.node.Devices, d)
	}
}

// instanceName is a MIG device's name after its place on its GPU: nvidia0/gi3/ci0. Without the GPU's there is none.
func instanceName(parent string, m *parse.MIGDevice) string {
	if parent == "" {
		return ""
	}
	if !m.GI.Known() || !m.CI.Known() {
		return parent + "/mig" + number(m.Index)
	}
	return parent + "/gi" + number(m.GI) + "/ci" + number(m.CI)
}

func asInt(o gpu.Opt[int64]) gpu.Opt[int] {
	if v, ok := o.Get(); ok {
		return gpu.Some(int(v))
	}
	return gpu.Opt[int]{}
}

// inherit gives a MIG device the faults by which its GPU is failed.
func (r *Reader) inherit(d, parent *gpu.Device) {
	for _, f := range parent.Faults {
		if f.Type.State() == gpu.StateFailed {
			d.AddFault(f.Type, "the GPU: "+f.Message)
		}
	}
}

// instanceID is a MIG device's UUID, or where none is told its place on its GPU.
func (r *Reader) instanceID(parent *gpu.Device, m *parse.MIGDevice, listed parse.ListedMIGDevice) string {
	if strings.HasPrefix(m.UUID, "MIG-") && !strings.HasPrefix(m.UUID, "MIG-GPU-") {
		return m.UUID
	}
	if listed.UUID != "" {
		return listed.UUID
	}
	gi, ok := m.GI.Get()
	ci, also := m.CI.Get()
	if !ok || !also || parent.ID == "" {
		r.problem(gpu.ProblemQuantity, parent.ID, "MIG devices", fmt.Errorf("nvidia-smi -q -x: MIG device %s of %s has neither a UUID nor the ids of its instances; it is left out",
			number(m.Index), parent.ID))
		return ""
	}
	return fmt.Sprintf("%s/%d/%d", parent.ID, gi, ci)
}
