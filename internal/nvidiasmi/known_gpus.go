// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// knownGPUs are the GPUs that were seen, or that the driver reported as unreachable.
type knownGPUs struct {
	gpus   []*knownGPU
	driver string // the version that was last seen
	// reloaded is true where the driver was away or replaced since the last listing. epoch counts how often it came back.
	reloaded bool
	epoch    uint64
}

// knownGPU is one known GPU.
type knownGPU struct {
	device     gpu.Device // the identity only
	migDevices []gpu.Device
	driver     string // the version with which it was last seen
	epoch      uint64
	unreadable bool // at the last read
	seen       bool // in the present listing
}

// find returns the GPU with an ID, or else the one at a PCI address. The ID has precedence: the machine may have been down for
// another driver, and GPUs get other addresses when one of them is removed. Of two GPUs that had an address it returns the one
// that was read there last.
func (m *knownGPUs) find(pci, id string) (found *knownGPU) {
	for _, k := range m.gpus {
		if id != "" && k.device.ID == id {
			return k
		}
		if pci != "" && k.device.Info.PCIAddress == pci && (found == nil || found.unreadable) {
			found = k
		}
	}
	return found
}

// findIndex returns the GPU with an index, or nil.
func (m *knownGPUs) findIndex(index gpu.Opt[int]) *knownGPU {
	for _, k := range m.gpus {
		if index.Known() && k.device.Index == index {
			return k
		}
	}
	return nil
}

// maxUnlisted bounds the GPUs that are kept although they are not listed. More come from a driver that prints uninitialised
// memory as a UUID, or from a node that cannot be trusted.
const maxUnlisted = 64

// trim forgets the GPUs that have been unlisted for longest.
func (m *knownGPUs) trim() {
	excess := -maxUnlisted
	for _, k := range m.gpus {
		if !k.seen {
			excess++
		}
	}
	m.gpus = slices.DeleteFunc(m.gpus, func(k *knownGPU) bool {
		if k.seen || excess <= 0 {
			return false
		}
		excess--
		return true
	})
}

// begin prepares for a listing by a driver version, which is empty where it was not printed.
func (m *knownGPUs) begin(driver string) {
	if driver != "" && driver != m.driver {
		m.reloaded = m.reloaded || m.driver != ""
		m.driver = driver
	}
	if m.reloaded {
		m.reloaded = false
		m.epoch++
	}
	for _, k := range m.gpus {
		k.seen = false
	}
}

// update remembers a listed GPU and completes it with what was known: an unreachable GPU may have an address only, or no more
// than its place in the listing.
func (m *knownGPUs) update(d *gpu.Device, unreadable bool) *knownGPU {
	k := m.find(d.Info.PCIAddress, d.ID)
	if k == nil {
		k = m.findIndex(d.Index)
		if k != nil && identified(d) && identified(&k.device) {
			k = nil // the index belongs to another GPU now
		}
	}
	if k == nil {
		k = &knownGPU{}
		m.gpus = append(m.gpus, k)
	}
	m.gpus = slices.DeleteFunc(m.gpus, func(o *knownGPU) bool { // known by this index only, which belonged to another GPU then
		return o != k && !identified(&o.device) && d.Index.Known() && o.device.Index == d.Index
	})
	if d.ID != "" && k.device.ID != "" && d.ID != k.device.ID {
		*k = knownGPU{} // another GPU in the same slot
	}
	if k.unreadable && !unreadable {
		k.epoch++
	}
	k.seen, k.unreadable, k.driver = true, unreadable, m.driver
	d.ID = cmp.Or(d.ID, k.device.ID)
	d.Model = cmp.Or(d.Model, k.device.Model)
	d.Info = mergeInfo(d.Info, k.device.Info)
	if unreadable {
		d.Name = cmp.Or(k.device.Name, d.Name)
		if !identified(d) {
			d.Name = cmp.Or(d.Name, placeholderName(d.Index))
		}
	}
	d.Epoch = m.epoch + k.epoch
	k.device = gpu.Device{ID: d.ID, Name: d.Name, Model: d.Model, Vendor: gpu.NVIDIA, Index: d.Index, Info: d.Info, Epoch: d.Epoch}
	return k
}

// addUnreachable remembers a GPU that was never seen and has no device handle, by its address or its index.
func (m *knownGPUs) addUnreachable(pci string, index gpu.Opt[int]) *knownGPU {
	k := &knownGPU{device: gpu.Device{Vendor: gpu.NVIDIA, Index: index, Info: gpu.Info{PCIAddress: pci, DriverVersion: m.driver}}}
	if pci == "" {
		k.device.Name = placeholderName(index)
	}
	m.gpus = append(m.gpus, k)
	return k
}

func mergeInfo(read, kept gpu.Info) gpu.Info {
	read.Serial = cmp.Or(read.Serial, kept.Serial)
	read.FirmwareVersion = cmp.Or(read.FirmwareVersion, kept.FirmwareVersion)
	read.DriverVersion = cmp.Or(read.DriverVersion, kept.DriverVersion)
	read.PCIAddress = cmp.Or(read.PCIAddress, kept.PCIAddress)
	read.ComputeCapability = cmp.Or(read.ComputeCapability, kept.ComputeCapability)
	return read
}

// placeholderName is the name of a GPU of which only the index is known. It differs from the names of device nodes, as it is
// not known which node belongs to the GPU.
func placeholderName(index gpu.Opt[int]) string {
	if n, ok := index.Get(); ok {
		return "gpu" + strconv.Itoa(n)
	}
	return ""
}
