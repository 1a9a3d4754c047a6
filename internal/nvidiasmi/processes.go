// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// processes merges what several commands print about the same process on the same device.
type processes struct {
	all   []gpu.Process
	pmon  []bool // whether a process was first found in the output of pmon
	index map[processKey]int
}

type processKey struct {
	device deviceRef
	pid    int64
}

// deviceRef is how a process names its device: by the ID, or by the location if the ID cannot be read.
type deviceRef struct {
	id       string
	location gpu.Location
}

// mergeProcesses returns the processes of a read. Types and memory come from the listing, which is exact. pmon adds the utilization, and
// processes that the listing does not have. On a GPU with MIG devices a process belongs to one of them, which only XML prints; a process of
// pmon that XML does not have is omitted there.
func mergeProcesses(out *output) []gpu.Process {
	merged := processes{index: map[processKey]int{}}
	byIndex, byUUID := map[int64]*parse.GPU{}, map[string]*parse.GPU{}
	for i := range out.listing.GPUs {
		g := &out.listing.GPUs[i]
		byUUID[g.Device.ID] = g
		if index, ok := g.Device.Index.Get(); ok {
			byIndex[int64(index)] = g
		}
		for j := range g.Processes {
			if leaf := leafOf(g, g.Processes[j].GI, g.Processes[j].CI); leaf != (deviceRef{}) {
				merged.add(leaf, &g.Processes[j], false)
			}
		}
	}
	for i := range out.apps { // of the fast query, whose listing has no processes
		g := byUUID[out.apps[i].UUID]
		if g == nil || g.Device.ID == "" {
			continue
		}
		if enabled, _ := g.MIGEnabled.Get(); !enabled {
			merged.add(deviceRef{id: g.Device.ID}, &out.apps[i], false)
		}
	}
	for i := range out.pmon.Processes {
		p := &out.pmon.Processes[i]
		index, _ := p.Index.Get()
		g := byIndex[index]
		if g == nil || refOf(g) == (deviceRef{}) {
			continue
		}
		if enabled, _ := g.MIGEnabled.Get(); !enabled {
			merged.add(refOf(g), p, true)
		}
	}
	return merged.all
}

// add adds a process on a device, or completes it.
func (ps *processes) add(device deviceRef, p *parse.Process, pmon bool) {
	key := processKey{device, p.PID}
	i, ok := ps.index[key]
	if !ok {
		i = len(ps.all)
		ps.index[key] = i
		ps.pmon = append(ps.pmon, pmon)
		ps.all = append(ps.all, gpu.Process{PID: p.PID, DeviceID: device.id, Location: device.location})
	}
	process := &ps.all[i]
	process.Type = bothTypes(process.Type, p.Type)
	if process.Executable == "" {
		process.Executable, process.Command = parse.Executable(p.Name)
	}
	if ps.pmon[i] == pmon || !process.Memory.Known() {
		process.Memory = larger(process.Memory, p.Memory)
	}
	process.MemoryController = larger(process.MemoryController, p.MemoryController)
	for t := range p.Utilization {
		process.Utilization[t] = larger(process.Utilization[t], p.Utilization[t])
	}
}

// larger returns the larger of two values of one process. The tool may list a process once for each of its contexts, with all
// of its memory each time.
func larger[T gpu.Number](a, b gpu.Opt[T]) gpu.Opt[T] {
	x, known := a.Get()
	y, also := b.Get()
	if known && also && x < y {
		return b
	}
	return a.Or(b)
}

// bothTypes returns the type of a process that is listed with two types.
func bothTypes(a, b gpu.ProcessType) gpu.ProcessType {
	switch {
	case a == gpu.ProcessUnknown || a == b:
		return b
	case b == gpu.ProcessUnknown:
		return a
	case a == gpu.ProcessMPS || b == gpu.ProcessMPS:
		return gpu.ProcessMPS
	}
	return gpu.ProcessComputeGraphics
}

// refOf returns how a process names a GPU. It is zero if the GPU has neither an ID nor a PCI address.
func refOf(g *parse.GPU) deviceRef {
	if g.Device.ID != "" {
		return deviceRef{id: g.Device.ID}
	}
	return deviceRef{location: gpu.Location{PCIAddress: g.Device.Info.PCIAddress}}
}

// leafOf returns the MIG device with the ids of its instances, or the GPU if it has no MIG device. If MIG is enabled and the instance is
// not printed, a GPU with a single MIG device leaves no doubt. Otherwise the process has no known device.
func leafOf(g *parse.GPU, gi, ci gpu.Opt[int64]) deviceRef {
	if enabled, _ := g.MIGEnabled.Get(); !enabled && len(g.MIGDevices) == 0 {
		return refOf(g)
	}
	if !gi.Known() && len(g.MIGDevices) == 1 {
		return deviceRef{id: g.MIGDevices[0].UUID}
	}
	for i := range g.MIGDevices {
		if m := &g.MIGDevices[i]; m.GI == gi && (m.CI == ci || !ci.Known()) {
			return deviceRef{id: m.UUID}
		}
	}
	return deviceRef{}
}
