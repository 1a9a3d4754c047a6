// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package inventory remembers the GPUs that a source has seen, so that a lost GPU stays in the node, failed, and is not forgotten.
//
// A source has one Inventory. A read that lists GPUs goes
//
//	inv.Begin(now)
//	for each GPU that is listed:
//		inv.Complete(devices) // if an answer may lack what an earlier one had
//		known, err := inv.Record(devices) // err: another GPU has its ID, or it is listed twice
//		known.State = …                   // what the source itself keeps of a GPU
//	for each GPU that is there and was not read (a call hangs):
//		inv.Touch(known)
//		known.AddTo(node, fault, message)
//	absent, forgotten := inv.End()
//	for each absent GPU, if the list is complete:
//		known.AddTo(node, gpu.FaultLost, message)
//	for each forgotten GPU: free what its State holds
//	node.Presence = inventory.Count(…)
//
// A read that lists nothing, because the driver or the tool fails, adds inv.All() to the node and calls neither Begin nor End. If the
// failure says nothing about the GPUs, it adds them with AddUnreadTo. A read that must not wake a GPU adds it with AddAsleep.
//
// A GPU is found again by its ID, wherever it is, and otherwise by its address. A GPU without an ID ends when one with an ID is listed
// at its address: the placeholder made of the address was for that one. A GPU with another ID at the address is another GPU.
//
// These stay in the sources, because only one source has or needs them, or needs them in another form:
//   - amdsmi keeps the IDs that a GPU in reset does not return, by the address of the partition: it needs them before it knows which
//     listed devices are one GPU.
//   - nvidiasmi finds GPUs by their index if a tool prints nothing else. It looks through All and calls Touch or Update.
//   - nvml and amdgpu read the driver's files for GPUs that were never read; they are not known GPUs, and Count takes them from the bus.
//   - Which fault a GPU has, when its counters have started again (Device.Epoch), and what hangs.
package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Errors of Record.
var (
	// ErrSharedID means that another GPU of this read has the same ID. The ID was removed from the devices, which are then identified
	// by their address: two GPUs never become one, whatever their firmware says.
	ErrSharedID = errors.New("two GPUs have the same ID; the second is identified by its PCI address")
	// ErrListedTwice means that this read has the GPU already. It is to be left out of the node.
	ErrListedTwice = errors.New("a GPU is listed twice; the second is left out")
)

// maxAbsent is how many GPUs are remembered that are not listed any more. More come from a driver that reports random IDs, or from a
// node that is not to be trusted.
const maxAbsent = 64

// Known is a GPU that was seen. S is what its source keeps of it.
type Known[S any] struct {
	Devices []gpu.Device // the GPU, its partitions, or both, as they were last recorded, without readings
	Seen    time.Time    // the last read that recorded or touched it
	State   S

	read  uint64 // Inventory.read at that read
	moved bool   // it has been at another address
}

// ID returns the ID of the physical GPU; empty if it is unknown.
func (k *Known[S]) ID() string { return idOf(k.Devices) }

// Address returns the PCI address of the GPU; empty if it is unknown.
func (k *Known[S]) Address() string { return addressOf(k.Devices) }

// AddTo adds the GPU and its partitions to a node as they were last known, with the reason why they could not be read.
func (k *Known[S]) AddTo(node *gpu.Node, fault gpu.FaultType, message string) {
	for _, d := range k.Devices {
		d.ProcessesUnread = true
		d.AddFault(fault, message)
		node.Devices = append(node.Devices, d)
	}
}

// AddUnreadTo adds the GPU and its partitions to a node as they were last known, for a read that failed without a word about them.
func (k *Known[S]) AddUnreadTo(node *gpu.Node) {
	for _, d := range k.Devices {
		d.ProcessesUnread, d.Unread = true, true
		node.Devices = append(node.Devices, d)
	}
}

// AddAsleep adds to a node a GPU and its partitions that a read did not wake, with what is known of them.
func AddAsleep(node *gpu.Node, source string, devices []gpu.Device) {
	for _, d := range devices {
		d.ProcessesUnread = true
		node.Devices = append(node.Devices, d)
	}
	d := &devices[0]
	title := cmp.Or(d.Name, d.Info.PCIAddress, d.ID)
	node.Problems = append(node.Problems, gpu.Problem{
		Device: cmp.Or(d.ID, d.Info.PCIAddress), What: "asleep", Err: fmt.Errorf("%s: %s: %w", source, title, errAsleep),
	})
}

var errAsleep = errors.New("asleep or about to fall asleep (runtime power management) and not read, because a read would wake it; set wake_devices to " +
	"read it anyway")

// Inventory is the GPUs of a machine that a source has seen. The zero Inventory is empty.
type Inventory[S any] struct {
	// KeepDisplaced keeps an absent GPU when a GPU from another address is found at its address: after a reboot without a broken GPU the
	// others move up, and the broken one is missing. Otherwise the absent GPU counts as replaced.
	KeepDisplaced bool

	known []*Known[S] // in the order in which they were first seen
	read  uint64      // number of the read, from 1
	now   time.Time   // of the read
}

// Begin starts a read that lists GPUs.
func (v *Inventory[S]) Begin(now time.Time) {
	v.read++
	v.now = now
}

// All returns every known GPU, in the order in which they were first seen.
func (v *Inventory[S]) All() []*Known[S] { return slices.Clone(v.known) }

// Find returns the GPU with this ID, or else the GPU that was last seen at this address and does not have another ID. Either may be empty.
// It returns nil if there is no such GPU.
func (v *Inventory[S]) Find(id, address string) *Known[S] {
	var latest *Known[S] // at the address
	for _, k := range v.known {
		knownID := k.ID()
		if id != "" && knownID == id {
			return k
		}
		if address == "" || k.Address() != address || id != "" && knownID != "" {
			continue
		}
		if latest == nil || k.read > latest.read { // not by Seen: a clock may be set back
			latest = k
		}
	}
	return latest
}

// Complete fills in known values that a listed GPU and its partitions lack: an answer may leave out a name or a serial number that an
// earlier one had. A partition profile is filled in if the GPU is divided into as many partitions as before.
func (v *Inventory[S]) Complete(devices []gpu.Device) {
	k := v.Find(idOf(devices), addressOf(devices))
	if k == nil {
		return
	}
	for i := range devices {
		d := &devices[i]
		index := slices.IndexFunc(k.Devices, func(o gpu.Device) bool { return o.ID == d.ID && o.Partition == d.Partition })
		if index < 0 {
			continue
		}
		known := &k.Devices[index]
		d.Model = cmp.Or(d.Model, known.Model)
		d.Info.Serial = cmp.Or(d.Info.Serial, known.Info.Serial)
		d.Info.DriverVersion = cmp.Or(d.Info.DriverVersion, known.Info.DriverVersion)
		d.Info.FirmwareVersion = cmp.Or(d.Info.FirmwareVersion, known.Info.FirmwareVersion)
		d.Info.ComputeCapability = cmp.Or(d.Info.ComputeCapability, known.Info.ComputeCapability)
		d.Info.InterconnectVersion = cmp.Or(d.Info.InterconnectVersion, known.Info.InterconnectVersion)
		d.Info.NUMANode = d.Info.NUMANode.Or(known.Info.NUMANode)
		if len(devices) == len(k.Devices) {
			d.Info.Profile = cmp.Or(d.Info.Profile, known.Info.Profile)
		}
	}
}

// Record records a GPU that this read lists: the GPU itself, its partitions, or both. It returns the known GPU. It returns nil if the GPU has neither an ID
// nor an address by which it could be found again, and nil with ErrListedTwice.
func (v *Inventory[S]) Record(devices []gpu.Device) (*Known[S], error) {
	id, address := idOf(devices), addressOf(devices)
	if id == "" && address == "" {
		return nil, nil
	}
	var err error
	k := v.Find(id, address)
	if k != nil && v.Present(k) && k.ID() == id && address != "" && address != k.Address() {
		err = ErrSharedID
		for i := range devices {
			devices[i].ID, devices[i].Parent = "", ""
		}
		k = v.Find("", address)
	}
	if k != nil && v.Present(k) {
		return nil, ErrListedTwice
	}
	if k == nil {
		return v.Add(devices), err
	}
	v.Update(k, devices)
	return k, err
}

// Update records devices as the devices of a known GPU, even if neither ID nor address would find it.
func (v *Inventory[S]) Update(k *Known[S], devices []gpu.Device) {
	before := k.Address()
	k.moved = k.moved || before != "" && before != addressOf(devices)
	k.Devices = make([]gpu.Device, len(devices))
	for i := range devices {
		k.Devices[i] = Identity(&devices[i])
	}
	v.Touch(k)
}

// Add adds a GPU that this read lists as a new one, without looking for it among the known GPUs.
func (v *Inventory[S]) Add(devices []gpu.Device) *Known[S] {
	k := &Known[S]{}
	v.known = append(v.known, k)
	v.Update(k, devices)
	return k
}

// Touch marks a known GPU as present in this read, although its values were not read.
func (v *Inventory[S]) Touch(k *Known[S]) { k.Seen, k.read = v.now, v.read }

// Present reports whether this read has recorded or touched a GPU.
func (v *Inventory[S]) Present(k *Known[S]) bool { return k.read == v.read }

// Forget removes a GPU, for example after it was bound to another driver.
func (v *Inventory[S]) Forget(k *Known[S]) {
	v.known = slices.DeleteFunc(v.known, func(o *Known[S]) bool { return o == k })
}

// End returns the known GPUs that this read has neither recorded nor touched, and the GPUs that it forgets: replaced GPUs and, if too many
// are absent, the GPUs that were not seen for longest.
func (v *Inventory[S]) End() (absent, forgotten []*Known[S]) {
	for _, k := range v.known {
		switch {
		case v.Present(k):
		case v.replaced(k):
			forgotten = append(forgotten, k)
		default:
			absent = append(absent, k)
		}
	}
	if excess := len(absent) - maxAbsent; excess > 0 {
		oldest := slices.Clone(absent)
		slices.SortStableFunc(oldest, func(a, b *Known[S]) int { return a.Seen.Compare(b.Seen) })
		forgotten = append(forgotten, oldest[:excess]...)
	}
	isForgotten := func(k *Known[S]) bool { return slices.Contains(forgotten, k) }
	v.known = slices.DeleteFunc(v.known, isForgotten)
	return slices.DeleteFunc(absent, isForgotten), forgotten
}

// replaced reports whether another GPU was found at the address of one that is absent.
func (v *Inventory[S]) replaced(absent *Known[S]) bool {
	address := absent.Address()
	return address != "" && slices.ContainsFunc(v.known, func(k *Known[S]) bool {
		if !v.Present(k) || k.Address() != address {
			return false
		}
		return !v.KeepDisplaced || absent.ID() == "" || !k.moved
	})
}

// Identity returns what identifies a device, without readings.
func Identity(d *gpu.Device) gpu.Device {
	return gpu.Device{
		ID: d.ID, Name: d.Name, Model: d.Model, Vendor: d.Vendor, Parent: d.Parent, Index: d.Index, Epoch: d.Epoch, Info: d.Info,
		Partition: d.Partition, GPUInstance: d.GPUInstance, ComputeInstance: d.ComputeInstance, Aliases: d.Aliases,
	}
}

func idOf(devices []gpu.Device) string {
	if len(devices) == 0 {
		return ""
	}
	return cmp.Or(devices[0].Parent, devices[0].ID)
}

func addressOf(devices []gpu.Device) string {
	if len(devices) == 0 {
		return ""
	}
	return devices[0].Info.PCIAddress
}
