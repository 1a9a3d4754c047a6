// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Usage is how one process uses one GPU or partition.
type Usage struct {
	PID   int64
	Owner scan.Owner

	memory    gpu.Opt[int64]      // bytes
	drmMemory gpu.Opt[int64]      // of it, what the open files show
	system    gpu.Opt[int64]      // bytes of system memory
	shares    [numEngines]float64 // of the time since the last read that each engine worked for it
	used      [numEngines]bool    // by any of its clients, ever
	timed     bool                // shares are known
	drm       bool                // it has a DRM client
	kfd       bool                // it is a process of the compute driver
	units     gpu.Opt[float64]    // the fraction of the compute units that work for it now
	copied    gpu.Opt[float64]    // seconds that the copy engines worked for it
	evicted   gpu.Opt[float64]    // seconds that its queues were not allowed to run
}

// addClient adds what a client of the process does.
func (u *Usage) addClient(c *client, shares [numEngines]float64, timed bool) {
	u.drm = true
	u.timed = timed
	if c.memoryKnown {
		before, _ := u.memory.Get()
		u.memory = gpu.Some(before + int64(c.memory))
		u.drmMemory = u.memory
	}
	if c.systemKnown {
		before, _ := u.system.Get()
		u.system = gpu.Some(before + int64(c.system))
	}
	for e := range c.engines {
		u.shares[e] += shares[e]
		u.used[e] = u.used[e] || c.used[e]
	}
}

// Merge adds what the compute driver shows to what the open files show. Both show the memory; they are views of the same, so the
// larger counts and they are not added up. KFD has a file for every process and every GPU, used or not.
func Merge(usages []Usage, kfd []KFDUsage) []Usage {
	type key struct {
		pid   int64
		owner scan.Owner
	}
	index := make(map[key]int, len(usages))
	for i := range usages {
		index[key{usages[i].PID, usages[i].Owner}] = i
	}
	for i := range kfd {
		k := &kfd[i]
		place, known := index[key{k.pid, k.owner}]
		if !known {
			if k.memory == 0 {
				continue
			}
			place = len(usages)
			usages = append(usages, Usage{PID: k.pid, Owner: k.owner})
		}
		u := &usages[place]
		u.kfd, u.units, u.copied, u.evicted = true, k.units, k.copied, k.evicted
		if memory, ok := u.memory.Get(); !ok || k.memory > memory {
			u.memory = gpu.Some(k.memory)
		}
	}
	return usages
}

// openedSystemMemory is more system memory, in bytes, than a process holds through a GPU that it has merely opened: some queues and buffers.
const openedSystemMemory = 16 << 20

// InUse reports whether the process uses the GPU, which is an APU or not. ROCm merely opens every GPU that it finds.
func (u *Usage) InUse(apu bool) bool {
	memory, _ := u.memory.Get()
	system, _ := u.system.Get()
	return memory > 0 || slices.Contains(u.used[:], true) || apu && system > openedSystemMemory
}

// Process returns the process with the quantities that are wanted, without a device. On an APU it has the system memory. There the number of
// the compute driver is not device memory: it counts what was requested as device memory, although the driver uses system memory for it.
func (u *Usage) Process(want gpu.Group, apu bool) gpu.Process {
	p := gpu.Process{PID: u.PID, Type: u.kind()}
	if want.Has(gpu.GroupProcesses) {
		p.Memory = u.memory
		if apu {
			p.Memory, p.SystemMemory = u.drmMemory.Or(u.memory), u.system
		}
	}
	if want.Has(gpu.GroupProcessTimes) {
		p.SDMATime, p.EvictedTime = total(u.copied), total(u.evicted)
	}
	if want.Has(gpu.GroupProcessUtilization) {
		u.setUtilization(&p)
	}
	return p
}

func total(seconds gpu.Opt[float64]) gpu.Counter[float64] {
	s, ok := seconds.Get()
	if !ok {
		return gpu.Counter[float64]{}
	}
	return gpu.Total(s)
}

func (u *Usage) kind() gpu.ProcessType {
	compute, graphics := u.kfd || u.used[engineCompute], u.used[engineGFX]
	switch {
	case compute && graphics:
		return gpu.ProcessComputeGraphics
	case compute:
		return gpu.ProcessCompute
	case graphics:
		return gpu.ProcessGraphics
	}
	return gpu.ProcessUnknown
}

// setUtilization sets the share of the time since the last read that the engines worked for the process. The queues of the compute driver
// are fed without the DRM driver, which therefore does not know their time: for them the current share of the compute units of the process
// is used instead.
func (u *Usage) setUtilization(p *gpu.Process) {
	general := u.used[engineGFX] || u.used[engineCompute]
	if u.timed && (general || u.drm && !u.kfd) {
		p.Utilization[gpu.TaskGeneral] = gpu.Some(min(1, u.shares[engineGFX]+u.shares[engineCompute]))
	}
	if units, ok := u.units.Get(); ok {
		if t, known := p.Utilization[gpu.TaskGeneral].Get(); !known || units > t {
			p.Utilization[gpu.TaskGeneral] = gpu.Some(units)
		}
	}
	for _, media := range [...]struct {
		engine engine
		task   gpu.Task
	}{{engineDecode, gpu.TaskDecoder}, {engineEncode, gpu.TaskEncoder}, {engineJPEG, gpu.TaskJPEG}, {engineVideo, gpu.TaskMedia}} {
		if u.timed && u.used[media.engine] {
			p.Utilization[media.task] = gpu.Some(min(1, u.shares[media.engine]))
		}
	}
}
