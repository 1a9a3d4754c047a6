// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// deviceUse is who holds and who uses one leaf device.
type deviceUse struct {
	entries []entry
	holders int
	// certain: all holders are known.
	certain bool
	// blurred: there are processes of which it is not known where they run, or it is not known which there are.
	blurred bool
	// unlisted: processes that run may not be listed, so none is not to say that nothing runs.
	unlisted bool
	// outside: processes that are known to be in no container.
	outside bool
	// stale: the API could not be read of late, so a holder that it told of may be another pod of that name by now.
	stale bool
	// together: the device is one of several that have one memory.
	together bool

	seen        [gpu.NumTasks]bool    // some process tells its utilisation
	utilization [gpu.NumTasks]float64 // of all processes, wherever they run
	memory      float64
	unmeasured  bool // some process does not tell its general utilisation
}

// entry is one container on one device.
type entry struct {
	container *gpu.Container
	holder    *gpu.Holder // nil where it holds nothing of the device
	processes int
	// apart: no user of the device may be this holder without its being known.
	apart bool

	utilization        [gpu.NumTasks]float64
	utilizationMissing [gpu.NumTasks]bool // a process of its own does not tell
	memory             int64
	memoryMissing      bool
}

// gather finds the containers of each device and adds up what their processes use.
func (d *domain) gather(node *gpu.Node) {
	d.uses = slices.Grow(d.uses[:0], len(node.Devices))[:len(node.Devices)]
	clear(d.byID)
	for i := range node.Devices {
		device := &node.Devices[i]
		d.byID[device.ID] = i
		u := &d.uses[i]
		*u = deviceUse{
			entries: u.entries[:0],
			holders: len(device.Holders),
			certain: d.certain[i] && device.HoldersKnown,
			blurred: !node.ProcessesKnown(device),
			stale:   d.stale, unlisted: d.unlisted,

			together: d.index.together[i],
		}
		for j := range device.Holders {
			u.entries = append(u.entries, entry{container: device.Holders[j].Container, holder: &device.Holders[j]})
		}
	}
	for i := range node.Processes {
		p := &node.Processes[i]
		n, ok := d.byID[p.DeviceID]
		if !ok || !d.index.isLeaf(n) {
			continue
		}
		d.uses[n].add(p, d.where[i])
	}
	for i := range d.uses {
		d.uses[i].tell(d)
	}
}

// add counts a process.
func (u *deviceUse) add(p *gpu.Process, where whereabouts) {
	for t := range p.Utilization {
		if v, ok := p.Utilization[t].Get(); ok {
			u.seen[t] = true
			u.utilization[t] += v
		}
	}
	if v, ok := p.Memory.Get(); ok {
		u.memory += float64(v)
	}
	u.unmeasured = u.unmeasured || !p.Utilization[gpu.TaskGeneral].Known()
	switch where {
	case inContainer:
		u.entry(p.Container).add(p)
	case outside:
		u.outside = true
	case unknown:
		u.blurred = true
	case gone: // it was nobody's that is known
	}
}

func (u *deviceUse) entry(container *gpu.Container) *entry {
	for i := range u.entries {
		if u.entries[i].container == container {
			return &u.entries[i]
		}
	}
	u.entries = append(u.entries, entry{container: container})
	return &u.entries[len(u.entries)-1]
}

func (e *entry) add(p *gpu.Process) {
	e.processes++
	for t := range p.Utilization {
		v, ok := p.Utilization[t].Get()
		e.utilization[t] += v
		e.utilizationMissing[t] = e.utilizationMissing[t] || !ok
	}
	v, ok := p.Memory.Get()
	e.memory += v
	e.memoryMissing = e.memoryMissing || !ok
}

// mayBe tells whether a user might be the holder. One that has no name may be in a pod that the API did not tell of any more.
func (u *deviceUse) mayBe(holder, user *gpu.Container) bool {
	return mayBe(holder, user) || (u.stale && user.PodName == "")
}

// tell finds out which holders may be users that could not be joined with them. What init containers use that end before a holder
// begins it has been given already.
func (u *deviceUse) tell(d *domain) {
	for i := range u.entries {
		e := &u.entries[i]
		e.apart = true
		if e.processes > 0 {
			continue
		}
		for j := range u.entries {
			if user := &u.entries[j]; user.holder == nil && (u.mayBe(e.container, user.container) || d.isEarlyOf(user.container, e.container)) {
				e.apart = false
			}
		}
	}
}
