// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var processLists = [...]struct {
	function *library.Function
	kind     gpu.ProcessType
}{
	{library.NewFunction("compute processes", "nvmlDeviceGetComputeRunningProcesses_v3",
		"nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses"), gpu.ProcessCompute},
	{library.NewFunction("graphics processes", "nvmlDeviceGetGraphicsRunningProcesses_v3",
		"nvmlDeviceGetGraphicsRunningProcesses_v2", "nvmlDeviceGetGraphicsRunningProcesses"), gpu.ProcessGraphics},
	{library.NewFunction("MPS processes", "nvmlDeviceGetMPSComputeRunningProcesses_v3",
		"nvmlDeviceGetMPSComputeRunningProcesses_v2", "nvmlDeviceGetMPSComputeRunningProcesses"), gpu.ProcessMPS},
}

// processes reads the processes of a GPU or an instance.
type processes struct {
	lists  [len(processLists)]library.ProcessList
	merged mergedProcesses
}

// read reads the lists, and reports whether it read all processes. Without a list of those that compute, they are unknown. A device
// without another list has no processes of that type.
func (p *processes) read(dev *device) (all bool) {
	all = true
	p.merged.clear()
	for i := range processLists {
		l := &processLists[i]
		var listed []library.Process
		ok := false
		if dev.Can(l.function) {
			var code library.Code
			listed, code = p.lists[i].Read(dev.handle, l.function)
			ok = dev.OK(l.function, code)
		}
		if !ok && (l.kind == gpu.ProcessCompute || dev.Failing(l.function)) {
			all = false
		}
		for _, process := range listed {
			if pid, ok := library.Uint32(process.PID); !ok || pid.Unsigned == 0 {
				continue // a driver's mark for no process
			}
			p.merged.add(process.PID, bytes(process.Memory), l.kind)
		}
	}
	return all
}

// list returns the processes as processes of a device.
func (p *processes) list(id string) []gpu.Process {
	all := p.merged.all
	for i := range all {
		all[i].DeviceID = id
	}
	return all
}

// mergedProcesses is the processes of a device, each once, in the order of the lists.
type mergedProcesses struct {
	all   []gpu.Process // without the device
	index map[uint32]int
}

func (m *mergedProcesses) clear() { *m = mergedProcesses{} }

// add adds a process of a list. One that is in several lists is one process.
func (m *mergedProcesses) add(pid uint32, memory gpu.Opt[int64], kind gpu.ProcessType) {
	i, found := m.index[pid]
	if !found {
		if m.index == nil {
			m.index = map[uint32]int{}
		}
		m.index[pid] = len(m.all)
		m.all = append(m.all, gpu.Process{PID: int64(pid), Memory: memory, Type: kind})
		return
	}
	p := &m.all[i]
	p.Memory = p.Memory.Or(memory)
	switch {
	case p.Type == gpu.ProcessMPS || kind == gpu.ProcessMPS:
		p.Type = gpu.ProcessMPS
	case p.Type != kind:
		p.Type = gpu.ProcessComputeGraphics
	}
}
