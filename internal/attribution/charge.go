// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// quantities sets node.Containers: what each container holds and uses of each device.
func (d *domain) quantities(node *gpu.Node, now time.Time) {
	since := d.cadence.next(now)
	d.gather(node)
	d.containers = d.containers[:0]
	d.ledger.begin()
	for i := range node.Devices {
		if d.index.isLeaf(i) {
			d.charge(&node.Devices[i], &d.uses[i], since)
		}
	}
	d.ledger.end()
	node.Containers = d.containers
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
		if h := &u.entries[i]; h.holder != nil && h.processes == 0 && u.mayBe(h.container, e.container) {
			return gpu.Opt[bool]{}
		}
	}
	return gpu.Some(false)
}

// charge records what each container has of a device.
func (d *domain) charge(device *gpu.Device, u *deviceUse, since span) {
	meter := d.ledger.meter(device)
	alone := u.exclusive()
	for i := range u.entries {
		e := &u.entries[i]
		use := gpu.ContainerUse{Container: e.container, DeviceID: device.ID, Allocated: u.allocated(e)}
		if e.holder == nil && d.isEarly(e.container) {
			use.Allocated = gpu.Opt[bool]{}
		}
		if e.holder != nil {
			use.Resource, use.DRA, use.Sharing = e.holder.Resource, e.holder.DRA, e.holder.Sharing
			if u.certain && u.holders == 1 && !u.together {
				use.MemoryLimit = device.Memory.Limit
			}
		}
		u.share(device, e, &use)
		share := u.powerShare(device, e, &use)
		account := d.ledger.account(device.ID, e.container)
		observed := since.observed
		if e == alone {
			use.Utilization = device.Utilization
			for t := range use.Utilization {
				use.Utilization[t] = use.Utilization[t].Or(u.own(e, t))
			}
			if !u.together {
				use.MemoryUsage = device.Memory.Usage.Or(use.MemoryUsage)
			}
			// The interval's energy is its own if it had the device at the beginning, too.
			if account.exclusive || !account.energy.running(since.end) {
				share = gpu.Some(1.0)
				observed = observed || undivided(e.holder)
			}
			use.Power = powerOf(device, gpu.Some(1.0))
		} else {
			use.Power = powerOf(device, share)
		}
		account.exclusive = e == alone
		account.charge(meter, share, observed, since)
		account.rest(u.busy(e, &use), since)
		use.Energy, use.IdleTime = account.energy.counter(), account.idle.counter()
		d.containers = append(d.containers, use)
	}
}

// undivided tells whether nobody else can have held a device besides its holder for as long as that has held it. Replicas
// and claims may have been others' in between.
func undivided(h *gpu.Holder) bool { return h.Sharing == gpu.SharingExclusive && !h.DRA }

// own is what a container's own processes use of a task, for a container alone on a device that does not tell itself.
func (u *deviceUse) own(e *entry, task int) gpu.Opt[float64] {
	if e.processes == 0 || e.utilizationMissing[task] {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(min(e.utilization[task], 1))
}
