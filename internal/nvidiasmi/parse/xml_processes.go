// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import "github.com/otelgpu/gpureceiver/internal/gpu"

// xmlProcesses reads the processes of a GPU, which are of a type unless the tool prints another. The element is empty if there is no
// process. A text in it is a reason.
func xmlProcesses(of gpu.ProcessType) *element {
	return &element{
		children: map[string]*element{"process_info": xmlProcess(of)},
		set: func(b *builder, printed []byte) {
			if b.gpu.ProcessesRead = len(printed) == 0; !b.gpu.ProcessesRead {
				b.note("processes", printed)
			}
		},
	}
}

func xmlProcess(of gpu.ProcessType) *element {
	name := leaf(func(b *builder, printed []byte) { b.process.Name = processName(printed) })
	name.verbatim = true
	e := branch(map[string]*element{
		"pid": leaf(func(b *builder, printed []byte) {
			if pid, ok := processID(printed); ok {
				b.process.PID = pid
			}
		}),
		"type":                leaf(func(b *builder, printed []byte) { b.process.Type = processType(printed) }),
		"process_name":        name,
		"used_memory":         leaf(integerOf("process.used_memory", unitBytes, func(b *builder) *gpu.Opt[int64] { return &b.process.Memory })),
		"gpu_instance_id":     leaf(integerOf("process.gi", unitCount, func(b *builder) *gpu.Opt[int64] { return &b.process.GI })),
		"compute_instance_id": leaf(integerOf("process.ci", unitCount, func(b *builder) *gpu.Opt[int64] { return &b.process.CI })),
	})
	e.open = func(b *builder, _ []byte) {
		b.process = Process{Type: of}
		b.gpu.ProcessesRead = true
	}
	e.end = func(b *builder, _ []byte) {
		if b.process.PID == 0 || b.processes >= maxProcesses {
			b.listing.Dropped++
			return
		}
		b.processes++
		b.gpu.Processes = append(b.gpu.Processes, b.process)
	}
	return e
}
