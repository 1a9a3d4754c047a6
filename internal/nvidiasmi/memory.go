// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"fmt"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// memory is what is kept of GPUs from read to read.
type memory struct {
	gpus   []*known
	driver string
	// reloaded: the driver was seen to be away or to be replaced. epoch counts how often it has come back.
	reloaded bool
	epoch    uint64
}

// known is a GPU that was seen, or of which the driver has told that it cannot be reached.
type known struct {
	device    gpu.Device // identity alone, of the GPU and of its MIG devices
	instances []gpu.Device
	driver    string // the version with which it was last seen
	epoch     uint64
	away      bool // not readable at the last read
	seen      bool // in the listing that is being read
}

// find returns a GPU by its id, or else by its PCI address. The id comes first: the machine may have been down for another driver,
// and GPUs have other addresses when one of them is gone. Of two that had an address it is the one that has been read there since.
func (m *memory) find(pci, id string) (found *known) {
	for _, k := range m.gpus {
		if id != "" && k.device.ID == id {
			return k
		}
		if pci != "" && k.device.Info.PCIAddress == pci && (found == nil || found.away) {
			found = k
		}
	}
	return found
}

func (m *memory) byIndex(index gpu.Opt[int]) *known {
	for _, k := range m.gpus {
		if index.Known() && k.device.Index == index {
			return k
		}
	}
	return nil
}

// maxRemembered bounds the GPUs that are remembered and not listed. More come from a driver that tells what lies in its memory
// as a UUID, and from a node that is not to be trusted.
const maxRemembered = 64

// trim forgets those that were not listed for longest.
func (m *memory) trim() {
	excess := -maxRemembered
	for _, k := range m.gpus {
		if !k.seen {
			excess++
		}
	}
	m.gpus = slices.DeleteFunc(m.gpus, func(k *known) bool {
		if k.seen || excess <= 0 {
			return false
		}
		excess--
		return true
	})
}

// begin prepares for a listing by the driver of a version.
func (m *memory) begin(driver string) {
	if driver != "" && driver != m.driver {
		if m.driver != "" {
			m.reloaded = true
		}
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

// learn remembers a GPU of a listing and completes it with what was known: one that cannot be reached may have an address
// alone, or no more than its place in the list.
func (m *memory) learn(d *gpu.Device, away bool) *known {
	k := m.find(d.Info.PCIAddress, d.ID)
	if k == nil {
		k = m.byIndex(d.Index)
		if k != nil && !nameless(d) && !nameless(&k.device) {
			k = nil // the index is another's now
		}
	}
	if k == nil {
		k = &known{}
		m.gpus = append(m.gpus, k)
	}
	m.gpus = slices.DeleteFunc(m.gpus, func(o *known) bool { // one of which only this index was told: it was another's then
		return o != k && nameless(&o.device) && d.Index.Known() && o.device.Index == d.Index
	})
	if d.ID != "" && k.device.ID != "" && d.ID != k.device.ID {
		*k = known{} // another GPU in the same slot
	}
	if k.away && !away {
		k.epoch++
	}
	k.seen, k.away, k.driver = true, away, m.driver
	d.ID = firstOf(d.ID, k.device.ID)
	d.Model = firstOf(d.Model, k.device.Model)
	d.Info = mergeInfo(d.Info, k.device.Info)
	if away {
		d.Name = firstOf(k.device.Name, d.Name)
		if nameless(d) {
			d.Name = firstOf(d.Name, placeName(d.Index))
		}
	}
	d.Epoch = m.epoch + k.epoch
	k.device = gpu.Device{ID: d.ID, Name: d.Name, Model: d.Model, Vendor: gpu.NVIDIA, Index: d.Index, Info: d.Info, Epoch: d.Epoch}
	return k
}

// isAway tells whether a listed GPU is there by name alone, or not even by that.
func isAway(g *parse.GPU) bool { return g.Unreadable || nameless(&g.Device) }

// nameless tells whether nothing of a GPU is known that would tell it from another, but its index.
func nameless(d *gpu.Device) bool { return d.ID == "" && d.Info.PCIAddress == "" }

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func mergeInfo(read, kept gpu.Info) gpu.Info {
	read.Serial = firstOf(read.Serial, kept.Serial)
	read.FirmwareVersion = firstOf(read.FirmwareVersion, kept.FirmwareVersion)
	read.DriverVersion = firstOf(read.DriverVersion, kept.DriverVersion)
	read.PCIAddress = firstOf(read.PCIAddress, kept.PCIAddress)
	read.ComputeCapability = firstOf(read.ComputeCapability, kept.ComputeCapability)
	return read
}

// absent adds a known GPU that this read does not show, with its MIG devices, and why.
func (r *Reader) absent(k *known, fault gpu.FaultType, message string) {
	for _, d := range append([]gpu.Device{k.device}, k.instances...) {
		d.ProcessesUnread = true
		d.AddFault(fault, message)
		r.node.Devices = append(r.node.Devices, d)
	}
}

// unreachable adds the GPUs for which the driver gave no handle. It returns those of which nothing is told but that they are
// there.
func (r *Reader) unreachable(told []parse.Unreachable) (rest []parse.Unreachable) {
	for _, u := range told {
		k := r.memory.find(u.PCI, "")
		if k == nil && u.PCI == "" {
			k = r.memory.byIndex(u.Index)
		}
		if k == nil {
			if u.PCI == "" && !u.Index.Known() {
				rest = append(rest, u)
				continue
			}
			k = &known{device: gpu.Device{
				Vendor: gpu.NVIDIA, Index: u.Index, Info: gpu.Info{PCIAddress: u.PCI, DriverVersion: r.memory.driver},
			}}
			if nameless(&k.device) {
				k.device.Name = placeName(u.Index)
			}
			r.memory.gpus = append(r.memory.gpus, k)
		}
		if k.seen {
			continue // its own block or row tells more
		}
		k.seen, k.away, k.driver = true, true, r.memory.driver
		r.absent(k, u.Fault(), "no device handle: "+u.Reason)
	}
	return rest
}

// forgotten adds the GPUs that were seen before and are not in a complete listing, also by a driver of another version: a GPU that
// does not come back after it was replaced is one that is missed. What was told of GPUs without saying which is told of them; it
// returns what is left of that.
func (r *Reader) forgotten(told []parse.Unreachable) (rest []parse.Unreachable) {
	for _, k := range r.memory.gpus {
		if k.seen {
			continue
		}
		k.away = true
		fault, message := gpu.FaultUnreachable, "was seen before, and nvidia-smi lists it no more"
		if now := r.memory.driver; k.driver != now && k.driver != "" {
			message = fmt.Sprintf("was seen with driver %s, and driver %s does not list it: it failed over the change, was taken out, or is "+
				"supported no more; see the kernel's log", k.driver, now)
		}
		if len(told) > 0 {
			fault, message = told[0].Fault(), told[0].Reason
			told = told[1:]
		}
		r.absent(k, fault, message)
	}
	return told
}
