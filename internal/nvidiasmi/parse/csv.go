// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Field is a column of --query-gpu that is read.
type Field struct {
	// Names are the spellings by which it can be asked for, the newest first. The heading has the tool's own.
	Names []string
	// Groups are the quantities it belongs to; zero for what is always asked for.
	Groups gpu.Group
	// Basic tells that every version since driver 384 has the field, by its last name.
	Basic bool

	set setter
}

// Fields returns the columns that are read, in the order in which they are to be asked for: the GPU's name last, as it is
// the only text in which a comma could stand.
func Fields() []Field {
	return slices.Concat(identityFields(), loadFields(), heatFields(), clockFields(), linkFields(), reliabilityFields(),
		[]Field{{[]string{"name", "gpu_name"}, 0, true, textOf("name", func(b *builder) *string { return &b.gpu.Device.Model })}})
}

// ignoredFields are columns that are known without being read: a heading is known by them, too.
var ignoredFields = []string{
	"timestamp", "pci.domain", "pci.bus", "pci.device", "pci.device_id", "memory.free", "compute_mode",
	"display_mode", "display_active", "persistence_mode",
}

// fieldsByName holds every spelling of every column.
var fieldsByName = func() map[string]setter {
	all := map[string]setter{}
	for _, f := range Fields() {
		for _, n := range f.Names {
			all[n] = f.set
		}
	}
	for _, n := range ignoredFields {
		all[n] = nil
	}
	return all
}()

// QueryGPU reads the output of --query-gpu=… --format=csv, with or without heading and units. asked is what was asked for,
// in order. Complete is false where a row could not be read; Dropped counts such rows.
func QueryGPU(data []byte, asked []string) (*Listing, bool) {
	b := builder{listing: &Listing{}}
	t := table{
		asked: asked,
		known: func(name string) bool { _, ok := fieldsByName[name]; return ok },
		free:  func(name string) bool { return name == "name" || name == "gpu_name" },
	}
	found, bad := t.read(data, func(names []string, cells [][]byte) {
		b.begin()
		for i, n := range names {
			if set := fieldsByName[n]; set != nil {
				set(&b, cells[i])
			}
		}
		b.end()
	})
	b.listing.Dropped += bad
	b.listing.Complete = found && bad == 0
	return b.listing, found
}

// Apps reads the output of --query-compute-apps=… --format=csv. On Windows it lists graphics processes, too, so that the
// type of a process is not known from it. A MIG device's process stands under its GPU.
func Apps(data []byte, asked []string) (processes []Process, found bool, dropped int) {
	t := table{
		asked: asked,
		known: func(name string) bool { _, ok := appColumns[name]; return ok },
		free:  func(name string) bool { return name == "process_name" || name == "name" },
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

// appColumns are the columns of --query-compute-apps, under their names and aliases.
var appColumns = map[string]func(p *Process, cell []byte){
	"timestamp":  nil,
	"gpu_name":   nil,
	"gpu_serial": nil,
	"gpu_uuid": func(p *Process, cell []byte) {
		if id := processName(cell); id != "" {
			p.UUID = id
		}
	},
	"gpu_bus_id": func(p *Process, cell []byte) { p.PCI = PCIAddress(processName(cell)) },
	"pid": func(p *Process, cell []byte) {
		if pid, ok := processID(cell); ok {
			p.PID = pid
		}
	},
	"process_name":    func(p *Process, cell []byte) { p.Name = processName(cell) },
	"name":            func(p *Process, cell []byte) { p.Name = processName(cell) },
	"used_gpu_memory": appMemory,
	"used_memory":     appMemory,
}

func appMemory(p *Process, cell []byte) {
	if v, ok := integer(cell, unitBytes); ok {
		p.Memory = gpu.Some(v)
	}
}
