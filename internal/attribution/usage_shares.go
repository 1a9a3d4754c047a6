// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import "github.com/otelgpu/gpureceiver/internal/gpu"

// setOwnUsage sets the utilization and memory that the container's own processes use, if they are known. The driver reads processes and
// device at different moments and over different periods, so the sum over the processes may exceed the value of the device. Then all are
// scaled down to it.
func (u *deviceUsage) setOwnUsage(c *containerUsage, use *gpu.ContainerUse) {
	if !c.evidence.hasProcesses() {
		return
	}
	use.Utilization = u.utilizationOf(&c.own)
	if c.own.memory.unknown > 0 {
		return
	}
	bytes := c.own.memory.total
	if limit, ok := u.device.Memory.Usage.Or(u.device.Memory.Limit).Get(); ok {
		bytes *= scale(u.all.memory.total, float64(limit))
	}
	use.MemoryUsage = gpu.Some(int64(bytes))
}

// utilizationOf returns the fractions of the device's time that some of its processes ran, absent if they are unknown.
func (u *deviceUsage) utilizationOf(processes *usage) [gpu.NumTasks]gpu.Opt[float64] {
	var found [gpu.NumTasks]gpu.Opt[float64]
	for t := range found {
		reported := u.device.Utilization[t]
		if v, ok := reported.Get(); ok && v <= 0 && gpu.Task(t) != gpu.TaskGeneral {
			found[t] = gpu.Some(0.0) // for media engines, the driver names only the processes that use them
			continue
		}
		if processes.utilization[t].unknown > 0 || (u.all.utilization[t].known == 0 && !reported.Known()) {
			continue
		}
		limit := 1.0
		if v, ok := reported.Get(); ok {
			limit = min(v, 1)
		}
		found[t] = gpu.Some(processes.utilization[t].total * scale(u.all.utilization[t].total, limit))
	}
	return found
}

// setDeviceUsage sets the device's utilization and memory, if the device reports them, for a container that has it alone.
func (u *deviceUsage) setDeviceUsage(c *containerUsage, use *gpu.ContainerUse) {
	own := c.own.utilization
	use.Utilization = u.device.Utilization
	for t := range use.Utilization {
		if own[t].known > 0 && own[t].unknown == 0 {
			use.Utilization[t] = use.Utilization[t].Or(gpu.Some(min(own[t].total, 1)))
		}
	}
	if !u.sharesMemory {
		use.MemoryUsage = u.device.Memory.Usage.Or(use.MemoryUsage)
	}
}

// scale returns the factor that reduces a sum to a limit; 1 if the sum does not exceed it.
func scale(sum, limit float64) float64 {
	if sum <= limit || sum <= 0 {
		return 1
	}
	return max(limit, 0) / sum
}

// powerShare returns the part of the device's power and energy that is a container's: the fraction of the time in which its own processes
// ran and, for a holder, its part of the time in which nothing ran. It is absent if the container's time is unknown. A container that holds
// the device for another has no part of the idle time, which belongs to the other.
func (u *deviceUsage) powerShare(c *containerUsage, use *gpu.ContainerUse) gpu.Opt[float64] {
	ran, ok := use.Utilization[gpu.TaskGeneral].Get()
	if !ok {
		return gpu.Opt[float64]{}
	}
	if c.holder == nil || c.forInner {
		return gpu.Some(ran)
	}
	idle, ok1 := u.idle().Get()
	holders, ok2 := u.holders.Get()
	if !ok1 || !ok2 {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(ran + idle/float64(holders))
}

// idle returns the fraction of the time in which nothing ran on the device. If the device does not report it and all of its processes do,
// they show it.
func (u *deviceUsage) idle() gpu.Opt[float64] {
	if busy, ok := u.device.Utilization[gpu.TaskGeneral].Get(); ok {
		return gpu.Some(1 - min(max(busy, 0), 1))
	}
	general := u.all.utilization[gpu.TaskGeneral]
	if general.unknown > 0 || general.known == 0 {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(1 - min(general.total, 1))
}

// power returns a share of what the device draws, in watts.
func (u *deviceUsage) power(share gpu.Opt[float64]) gpu.Opt[float64] {
	watts, ok1 := u.device.Power.Draw.Or(u.device.Power.Instant).Get()
	fraction, ok2 := share.Get()
	if !ok1 || !ok2 {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(watts * fraction)
}

// busy returns the fraction of the time in which a holder, or what runs in it, ran anything on the device, by its busiest task; absent for
// a container that does not hold the device.
func (u *deviceUsage) busy(c *containerUsage, use *gpu.ContainerUse) gpu.Opt[float64] {
	if c.holder == nil || c.evidence == ambiguous {
		return gpu.Opt[float64]{}
	}
	tasks, processes := use.Utilization, c.own.processes
	if c.inner.processes > 0 {
		whole := c.own
		whole.addAll(&c.inner)
		tasks, processes = u.utilizationOf(&whole), whole.processes
	}
	busiest, ok := tasks[gpu.TaskGeneral].Get()
	if !ok {
		if processes == 0 && c.evidence.hasProcesses() {
			return gpu.Some(0.0)
		}
		return gpu.Opt[float64]{}
	}
	for _, task := range tasks {
		if v, ok := task.Get(); ok {
			busiest = max(busiest, v)
		}
	}
	return gpu.Some(min(max(busiest, 0), 1))
}
