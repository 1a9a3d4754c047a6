// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import "github.com/otelgpu/gpureceiver/internal/gpu"

// ComputeApps reads the output of --query-compute-apps=… --format=csv. On Windows the tool lists graphics processes, too, so it does not
// show the type of a process. A process of a MIG device is listed under its GPU. found is false if the output contains no table; dropped
// counts rows that cannot be read or are too many.
func ComputeApps(data []byte, columns []string) (processes []Process, found bool, dropped int) {
	t := table{
		columns:  columns,
		isColumn: func(name string) bool { _, ok := appColumns[name]; return ok },
		freeText: []string{"process_name", "name"},
	}
	found, bad := t.read(data, func(names []string, cells [][]byte) {
		if len(processes) >= maxProcesses {
			dropped++
			return
		}
		var p Process
		for i, n := range names {
			if set := appColumns[n]; set != nil {
				set(&p, cells[i])
			}
		}
		if p.PID == 0 {
			dropped++
			return
		}
		processes = append(processes, p)
	})
	return processes, found, dropped + bad
}

// appColumns are the columns of --query-compute-apps, under their names and aliases. A nil column is not read.
var appColumns = map[string]func(p *Process, cell []byte){
	"timestamp":  nil,
	"gpu_name":   nil,
	"gpu_serial": nil,
	"gpu_uuid":   func(p *Process, cell []byte) { p.UUID, _ = freeText(cell) },
	"gpu_bus_id": func(p *Process, cell []byte) { p.PCI = PCIAddress(processName(cell)) },
	"pid": func(p *Process, cell []byte) {
		if pid, ok := processID(cell); ok {
			p.PID = pid
		}
	},
	"process_name":    func(p *Process, cell []byte) { p.Name = processName(cell) },
	"name":            func(p *Process, cell []byte) { p.Name = processName(cell) },
	"used_gpu_memory": setAppMemory,
	"used_memory":     setAppMemory,
}

func setAppMemory(p *Process, cell []byte) {
	if v, ok := integer(cell, unitBytes); ok {
		p.Memory = gpu.Some(v)
	}
}
