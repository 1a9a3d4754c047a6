// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/cadence"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// accounting counts what containers use of one vendor's devices, from read to read.
type accounting struct {
	cadence *cadence.Cadence
	totals  totals
}

func newAccounting(interval time.Duration) *accounting {
	return &accounting{cadence: cadence.New(interval), totals: newTotals()}
}

// containerUses returns what each container holds and uses of each device, for gpu.Node.Containers.
func (a *accounting) containerUses(devices []deviceUsage, now time.Time) []gpu.ContainerUse {
	longest := a.cadence.Longest() // before this read
	since := a.cadence.Next(now)
	a.totals.begin()
	var uses []gpu.ContainerUse
	for i := range devices {
		u := &devices[i]
		meter := a.totals.meter(u.device, now, longest)
		for j := range u.containers {
			c := &u.containers[j]
			uses = append(uses, u.use(c, a.totals.get(u.device.ID, c.container), meter, since))
		}
	}
	a.totals.end()
	return uses
}

// use returns what a container holds and uses of a device, and adds to its totals.
func (u *deviceUsage) use(c *containerUsage, totals *containerTotals, meter *energyMeter, since cadence.Span) gpu.ContainerUse {
	use := gpu.ContainerUse{Container: c.container, DeviceID: u.device.ID, Allocated: c.allocated}
	if c.holder != nil {
		use.Resource, use.Allocator, use.Sharing, use.Share = c.holder.Resource, c.holder.Allocator, c.holder.Sharing, c.holder.Share
		switch {
		case c.holder.Sharing == gpu.SharingFraction:
			use.MemoryLimit = c.holder.MemoryLimit
		case u.holders == gpu.Some(1) && !c.forInner && !u.sharesMemory && !c.holder.Virtual:
			use.MemoryLimit = u.device.Memory.Limit
		}
	}
	u.setOwnUsage(c, &use)
	share := u.powerShare(c, &use)
	energyShare, observed := share, meter.observed
	alone := c.evidence.hasDevice()
	if alone {
		u.setDeviceUsage(c, &use)
		share = gpu.Some(1.0)
		// The interval's energy is the container's own if it also had the device alone at the beginning.
		if totals.alone || !totals.energy.running(since.End) {
			energyShare = share
			observed = observed || isUndivided(c.holder)
		}
	}
	use.Power = u.power(share)
	totals.alone = alone && (meter.known || totals.alone || !totals.energy.running(since.End))
	totals.addEnergy(meter, energyShare, observed, since)
	totals.addTime(u.busy(c, &use), since)
	use.IdleTime, use.BusyTime = totals.idle.counter(), totals.busy.counter()
	if meter.known {
		use.Energy = totals.energy.counter()
	}
	return use
}

// isUndivided reports whether no other container can have held a device between two reads in which a container held it. Replicas and claims
// may have changed holders in between.
func isUndivided(h *gpu.Holder) bool {
	return h.Sharing == gpu.SharingExclusive && h.Allocator != gpu.AllocatorDRA
}
