// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/inventory"
	"github.com/otelgpu/gpureceiver/internal/nvml/device"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// finder identifies a handle: an index in a session.
type finder struct {
	session uint64 // its number; 0: none
	index   int
}

// outcome is what became of a handle in a read.
type outcome struct {
	handle finder
	gpu    *knownGPU // nil: not found
	result *device.Result
	code   library.Code // why the result is missing
	listed bool         // the GPU must be reset, and the driver still gives out its handle
	hung   bool         // because a call has not returned for long
	late   bool         // because the time was over before; a call may not have returned
}

// silent reports whether the GPU was not read for a reason that says nothing about it.
func (o *outcome) silent() bool {
	return o.result == nil && !o.hung && (o.late || o.code.Answer() == library.Denied)
}

// fault is the fault of a GPU that was not read, and why.
func (o *outcome) fault() (gpu.FaultType, string) {
	if o.hung {
		return gpu.FaultHung, errHung.Error()
	}
	return faultOf(o.code), o.code.Error()
}

// knownGPU is a GPU that was seen.
type knownGPU struct {
	*device.GPU
	foundBy finder // the handle that found it last; zero after the release. Guarded by knownGPUs.mu.

	// These belong to the source.
	epoch uint64       // a new one whenever counters do not continue
	last  library.Code // why the GPU could not be read the last time; OK: it was read
}

// address is the PCI address; empty: not known.
func (g *knownGPU) address() string { return g.Identity().Info.PCIAddress }

// index is the index under which the GPU was first seen, or which it got since.
func (g *knownGPU) index() int {
	n, _ := g.Identity().Index.Get()
	return n
}

// devices are the GPU and its instances without values.
func (g *knownGPU) devices() []gpu.Device {
	devices := []gpu.Device{g.Identity().Device()}
	for _, instance := range g.Instances() {
		devices = append(devices, instance.Device())
	}
	for i := range devices {
		devices[i].Epoch = g.epoch
	}
	return devices
}

// knownGPUs is every GPU that was seen: for the goroutines that find them by UUID while they are read, and, once it is known what they are,
// in the inventory.
type knownGPUs struct {
	cfg device.Config

	mu       sync.Mutex
	all      []*knownGPU
	sessions uint64 // the number of the last one

	// These belong to the source.
	inventory inventory.Inventory[*knownGPU]
	epochs    uint64 // the last one. None is used twice: a GPU that is forgotten and comes back does not continue.
}

// newSession returns the number of a new session.
func (k *knownGPUs) newSession() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sessions++
	return k.sessions
}

// take returns the GPU of a UUID for a handle; nil if another handle of the session has it, because a GPU is read by one goroutine at a
// time.
func (k *knownGPUs) take(lib *library.Library, uuid string, claimant finder) *knownGPU {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, g := range k.all {
		if g.UUID() != uuid {
			continue
		}
		if g.foundBy != claimant && g.foundBy.session == claimant.session {
			return nil
		}
		g.foundBy = claimant
		return g
	}
	g := &knownGPU{GPU: device.New(lib, &k.cfg, uuid), foundBy: claimant}
	k.all = append(k.all, g)
	return g
}

// release takes a GPU from its handle, so that another one may find it. The instances that were found by its handle may be another GPU's.
func (k *knownGPUs) release(g *knownGPU) {
	g.Close()
	g.DropInstances()
	k.mu.Lock()
	defer k.mu.Unlock()
	g.foundBy = finder{}
}

// snapshot returns all GPUs.
func (k *knownGPUs) snapshot() []*knownGPU {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.all)
}

// identified returns the GPUs that have an identity, in the order of their indexes.
func (k *knownGPUs) identified() []*knownGPU {
	all := slices.DeleteFunc(k.snapshot(), func(g *knownGPU) bool { return g.Identity() == nil })
	slices.SortStableFunc(all, func(a, b *knownGPU) int { return cmp.Compare(a.index(), b.index()) })
	return all
}

// restarted notes that the counters of all GPUs have started again.
func (k *knownGPUs) restarted() {
	for _, g := range k.identified() {
		g.CountersRestarted()
	}
}

// newEpoch gives a GPU a new epoch if its counters do not continue.
func (k *knownGPUs) newEpoch(g *knownGPU) {
	if g.TakeNewEpoch() {
		k.epochs++
		g.epoch = k.epochs
	}
}

// record updates the inventory with the outcomes of the handles in a read. It returns the GPUs that it forgets: the GPUs that were replaced
// by another one, because they were exchanged while the machine runs or got another UUID from the hypervisor, and the GPUs without an
// identity. All others that are not read stay: they are missing.
func (k *knownGPUs) record(now time.Time, outcomes []outcome) (forgotten []*knownGPU) {
	k.inventory.Begin(now)
	for _, g := range k.identified() {
		devices := g.devices()
		if known := k.inventory.Find(g.UUID(), ""); known != nil && !k.inUse(g, outcomes) {
			known.Devices = devices
		} else if known, err := k.inventory.Record(devices); err == nil { // UUIDs differ
			known.State = g
		}
	}
	_, replaced := k.inventory.End()
	for _, known := range replaced {
		forgotten = append(forgotten, known.State)
	}
	for _, g := range k.snapshot() {
		if g.Identity() == nil && !k.inUse(g, outcomes) {
			forgotten = append(forgotten, g)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = slices.DeleteFunc(k.all, func(g *knownGPU) bool { return slices.Contains(forgotten, g) })
	return forgotten
}

// inUse reports whether a handle has the GPU, or a call on it may be outstanding.
func (k *knownGPUs) inUse(g *knownGPU, outcomes []outcome) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(outcomes, func(o outcome) bool {
		return o.gpu == g || (o.hung || o.late) && o.handle == g.foundBy
	})
}

// renumber gives GPUs the index that NVML gives them, if that has changed and every known GPU was read. While one is missing the others
// keep their indexes, so that its index stays free.
func (k *knownGPUs) renumber(outcomes []outcome) {
	count := 0
	for i := range outcomes {
		if outcomes[i].result != nil {
			count++
		}
	}
	if count < len(outcomes) || count < len(k.identified()) {
		return
	}
	for i := range outcomes {
		o := &outcomes[i]
		if g := o.gpu; g.index() != o.handle.index {
			g.Renumber(o.handle.index)
			o.result.Devices[0].Index = gpu.Some(o.handle.index)
		}
	}
}
