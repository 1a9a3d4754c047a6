// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import "github.com/otelgpu/gpureceiver/internal/gpu"

// share sets what the container's own processes use. The driver reads the processes and the device at different moments
// and over different times, so their sum may be more than the device's reading: then all are scaled down to it.
func (u *deviceUse) share(device *gpu.Device, e *entry, use *gpu.ContainerUse) {
	if u.blurred || u.unlisted || !e.apart {
		return // there may be processes of its own that are not known to be
	}
	for t := range use.Utilization {
		reading := device.Utilization[t]
		if e.utilizationMissing[t] || (!u.seen[t] && (e.processes > 0 || !reading.Known())) {
			continue
		}
		bound, ok := reading.Get()
		if !ok {
			bound = 1
		}
		use.Utilization[t] = gpu.Some(e.utilization[t] * scale(u.utilization[t], min(bound, 1)))
	}
	if e.memoryMissing {
		return
	}
	bytes := float64(e.memory)
	if bound, ok := device.Memory.Usage.Or(device.Memory.Limit).Get(); ok {
		bytes *= scale(u.memory, float64(bound))
	}
	use.MemoryUsage = gpu.Some(int64(bytes))
}

// scale is the factor that brings a sum down to a bound; 1 where it does not exceed it.
func scale(sum, bound float64) float64 {
	if sum <= bound || sum <= 0 {
		return 1
	}
	return max(bound, 0) / sum
}

// powerShare is which part of the device's power and energy is a container's: the part of the time in which it ran, and
// for who holds the device, its part of the time in which nothing ran. It is unknown where the container's time is.
func (u *deviceUse) powerShare(device *gpu.Device, e *entry, use *gpu.ContainerUse) gpu.Opt[float64] {
	ran, ok := use.Utilization[gpu.TaskGeneral].Get()
	if !ok {
		return gpu.Opt[float64]{}
	}
	if e.holder == nil {
		return gpu.Some(ran)
	}
	idle, ok := u.idle(device).Get()
	if !ok || !u.certain {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(ran + idle/float64(u.holders))
}

// idle is the part of the time in which nothing ran on the device. Where the device does not tell, its processes do, if
// all of them tell.
func (u *deviceUse) idle(device *gpu.Device) gpu.Opt[float64] {
	if busy, ok := device.Utilization[gpu.TaskGeneral].Get(); ok {
		return gpu.Some(1 - min(max(busy, 0), 1))
	}
	if u.unmeasured || u.blurred || !u.seen[gpu.TaskGeneral] {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(1 - min(u.utilization[gpu.TaskGeneral], 1))
}

// powerOf is a share of what the device draws.
func powerOf(device *gpu.Device, share gpu.Opt[float64]) gpu.Opt[float64] {
	watts, ok1 := device.Power.Draw.Or(device.Power.Instant).Get()
	fraction, ok2 := share.Get()
	if !ok1 || !ok2 {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(watts * fraction)
}

// busy is the part of the time in which a holder ran anything on the device, by its busiest task; unknown for who holds
// nothing.
func (u *deviceUse) busy(e *entry, use *gpu.ContainerUse) gpu.Opt[float64] {
	if e.holder == nil || u.blurred || !e.apart {
		return gpu.Opt[float64]{}
	}
	general, ok := use.Utilization[gpu.TaskGeneral].Get()
	if !ok {
		if e.processes == 0 && !u.unlisted {
			return gpu.Some(0.0)
		}
		return gpu.Opt[float64]{}
	}
	for _, task := range use.Utilization {
		if v, ok := task.Get(); ok {
			general = max(general, v)
		}
	}
	return gpu.Some(min(max(general, 0), 1))
}
