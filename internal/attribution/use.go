// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"
	"time"

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
	// outside: processes that are known to be in no container.
	outside bool

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

// quantities sets node.Containers: what each container holds and uses of each device.
func (d *domain) quantities(node *gpu.Node, now time.Time) {
	interval := time.Duration(0)
	if !d.last.IsZero() {
		interval = now.Sub(d.last)
	}
	d.last = now
	d.gather(node)
	d.containers = d.containers[:0]
	d.ledger.begin()
	for i := range node.Devices {
		if d.index.isLeaf(i) {
			d.charge(&node.Devices[i], &d.uses[i], interval, now)
		}
	}
	d.ledger.end()
	node.Containers = d.containers
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
			certain: d.certain && device.HoldersKnown,
			blurred: unread(node, device),
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
		d.uses[i].tell()
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

// tell finds out which holders may be users that could not be joined with them.
func (u *deviceUse) tell() {
	for i := range u.entries {
		e := &u.entries[i]
		e.apart = true
		if e.processes > 0 {
			continue
		}
		for j := range u.entries {
			if user := &u.entries[j]; user.holder == nil && mayBe(e.container, user.container) {
				e.apart = false
			}
		}
	}
}

// exclusive returns the container that has the device to itself: it alone holds it, and no process of anyone else is on
// it; nil if there is none.
func (u *deviceUse) exclusive() *entry {
	if !u.certain || u.holders != 1 || u.blurred || u.outside || len(u.entries) != 1 {
		return nil
	}
	return &u.entries[0]
}

// allocated tells whether a container holds the device.
func (u *deviceUse) allocated(e *entry) gpu.Opt[bool] {
	if e.holder != nil {
		return gpu.Some(true)
	}
	if !u.certain {
		return gpu.Opt[bool]{}
	}
	for i := range u.entries {
		if h := &u.entries[i]; h.holder != nil && h.processes == 0 && mayBe(h.container, e.container) {
			return gpu.Opt[bool]{}
		}
	}
	return gpu.Some(false)
}

// charge records what each container has of a device.
func (d *domain) charge(device *gpu.Device, u *deviceUse, interval time.Duration, now time.Time) {
	meter := d.ledger.meter(device)
	alone := u.exclusive()
	for i := range u.entries {
		e := &u.entries[i]
		use := gpu.ContainerUse{Container: e.container, DeviceID: device.ID, Allocated: u.allocated(e)}
		if e.holder != nil {
			use.Resource, use.DRA, use.Sharing = e.holder.Resource, e.holder.DRA, e.holder.Sharing
			if u.certain && u.holders == 1 {
				use.MemoryLimit = device.Memory.Limit
			}
		}
		u.share(device, e, &use)
		share := u.powerShare(device, e, &use)
		account := d.ledger.account(device.ID, e.container)
		if e == alone {
			use.Utilization = device.Utilization
			for t := range use.Utilization {
				use.Utilization[t] = use.Utilization[t].Or(u.own(e, t))
			}
			use.MemoryUsage = device.Memory.Usage.Or(use.MemoryUsage)
			// The interval's energy is its own if it had the device at the beginning, too.
			if account.exclusive || !account.energy.running() {
				share = gpu.Some(1.0)
			}
			use.Power = powerOf(device, gpu.Some(1.0))
		} else {
			use.Power = powerOf(device, share)
		}
		account.exclusive = e == alone
		account.charge(meter, share, now)
		account.rest(u.busy(e, &use), interval, now)
		use.Energy, use.IdleTime = account.energy.counter(), account.idle.counter()
		d.containers = append(d.containers, use)
	}
}

// own is what a container's own processes use of a task, for a container alone on a device that does not tell itself.
func (u *deviceUse) own(e *entry, task int) gpu.Opt[float64] {
	if e.processes == 0 || e.utilizationMissing[task] {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(min(e.utilization[task], 1))
}
