// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import "github.com/otelgpu/gpureceiver/internal/gpu"

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
