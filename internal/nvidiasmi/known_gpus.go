// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"cmp"
	"strconv"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/inventory"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// knownGPUs are the GPUs that were seen, or that the driver reported as unreachable.
type knownGPUs struct {
	inventory inventory.Inventory[gpuState]
	driver    string // the version that was last seen
	// reloaded is true if the driver was away or replaced since the last listing. epoch counts how often it came back.
	reloaded bool
	epoch    uint64
}

type knownGPU = inventory.Known[gpuState]

// gpuState is what is kept about a known GPU in addition to its identity.
type gpuState struct {
	driver     string // the version with which it was last seen
	epoch      uint64 // counts how often it came back
	unreadable bool   // at the last read, or it needed a reset
	answered   bool   // it had a reading
}

// begin prepares for a listing by a driver version, which is empty if it was not printed.
func (m *knownGPUs) begin(now time.Time, driver string) {
	m.inventory.KeepDisplaced = true // GPUs get other addresses when one of them is removed, as their order determines the address
	m.inventory.Begin(now)
	if driver != "" && driver != m.driver {
		m.reloaded = m.reloaded || m.driver != ""
		m.driver = driver
	}
	if m.reloaded {
		m.reloaded = false
		m.epoch++
	}
}

// find returns the GPU that the listing means. An unreachable GPU may have no more than an address or an index.
func (m *knownGPUs) find(d *gpu.Device) *knownGPU {
	if k := m.inventory.Find(d.ID, d.Info.PCIAddress); k != nil {
		return k
	}
	k := m.findIndex(d.Index)
	if k != nil && identified(d) && identified(&k.Devices[0]) {
		return nil // the index belongs to another GPU now
	}
	return k
}

// findIndex returns the GPU with an index, or nil.
func (m *knownGPUs) findIndex(index gpu.Opt[int]) *knownGPU {
	for _, k := range m.inventory.All() {
		if index.Known() && k.Devices[0].Index == index {
			return k
		}
	}
	return nil
}

// complete completes a listed GPU with what is known about it. k may be nil.
func (m *knownGPUs) complete(g *parse.GPU, k *knownGPU) {
	d := &g.Device
	d.Epoch = m.epoch
	if k != nil {
		known := &k.Devices[0]
		d.ID = cmp.Or(d.ID, known.ID)
		d.Info.PCIAddress = cmp.Or(d.Info.PCIAddress, known.Info.PCIAddress)
		devices := []gpu.Device{*d}
		m.inventory.Complete(devices)
		*d = devices[0]
		if g.Unreadable || g.ResetRequired {
			d.Name = cmp.Or(known.Name, d.Name)
		} else if k.State.unreadable {
			k.State.epoch++
		}
		d.Epoch += k.State.epoch
	}
	if g.Unreadable && !identified(d) {
		d.Name = cmp.Or(d.Name, placeholderName(d.Index))
	}
}

// record remembers a listed GPU, which is the first of the devices, and its MIG devices. k is what was known about it, or nil.
func (m *knownGPUs) record(k *knownGPU, devices []gpu.Device, g *parse.GPU) {
	switch {
	case k == nil:
		k = m.inventory.Add(devices)
	case m.inventory.Present(k):
		return // it is listed twice
	default:
		m.inventory.Update(k, devices)
	}
	k.State = gpuState{
		driver: m.driver, epoch: k.State.epoch, unreadable: g.Unreadable || g.ResetRequired, answered: k.State.answered || !g.Unreadable && !g.Silent,
	}
	for _, o := range m.inventory.All() { // known by this index only, which belonged to another GPU then
		if o != k && !identified(&o.Devices[0]) && devices[0].Index.Known() && o.Devices[0].Index == devices[0].Index {
			m.inventory.Forget(o)
		}
	}
}

// unreachable returns the GPU for which the driver returned no device handle. It returns nil if nothing identifies it, and false if the
// listing has more about it.
func (m *knownGPUs) unreachable(u parse.Unreachable) (k *knownGPU, unlisted bool) {
	k = m.inventory.Find("", u.PCI)
	if k == nil && u.PCI == "" {
		k = m.findIndex(u.Index)
	}
	switch {
	case k == nil && u.PCI == "" && !u.Index.Known():
		return nil, true
	case k == nil:
		d := gpu.Device{Vendor: gpu.NVIDIA, Index: u.Index, Info: gpu.Info{PCIAddress: u.PCI, DriverVersion: m.driver}}
		if u.PCI == "" {
			d.Name = placeholderName(u.Index)
		}
		k = m.inventory.Add([]gpu.Device{d})
	case m.inventory.Present(k):
		return k, false
	}
	m.inventory.Touch(k)
	k.State = gpuState{driver: m.driver, epoch: k.State.epoch, unreadable: true, answered: k.State.answered}
	return k, true
}

// placeholderName returns the name of a GPU whose only known property is its index. It differs from the names of device nodes because it is
// not known which node belongs to the GPU.
func placeholderName(index gpu.Opt[int]) string {
	if n, ok := index.Get(); ok {
		return "gpu" + strconv.Itoa(n)
	}
	return ""
}
