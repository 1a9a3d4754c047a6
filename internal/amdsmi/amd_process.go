// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"cmp"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// amdProcess is a process as amd-smi lists it under one device.
type amdProcess struct {
	pid    int64
	index  int // of the device
	name   string
	memory gpu.Opt[int64] // bytes of the device's own memory, as printed
	bytes  bool           // printed as a number of bytes
}

// parseProcesses reads the records of amd-smi process. A device without processes has the text "No running processes
// detected" in place of one. It returns of how many devices the output tells, too.
func parseProcesses(records []record) (list []amdProcess, told int) {
	for _, r := range records {
		index, ok := r.integer("gpu")
		if !ok || index >= maxDevices {
			continue
		}
		told++
		entries, _ := r["process_list"].([]any)
		if entries == nil { // 5.7 and 6.0: one or several, called values
			switch v := r["values"].(type) {
			case []any:
				entries = v
			case map[string]any:
				entries = []any{v}
			}
		}
		for _, e := range entries {
			outer, _ := e.(map[string]any)
			info := record(outer).section("process_info")
			pid, ok := info.integer("pid")
			if !ok || pid == 0 || len(list) >= maxProcesses {
				continue
			}
			p := amdProcess{pid: int64(pid), index: index, name: executable(info.text("name"))}
			p.memory, p.bytes = vram(info)
			list = append(list, p)
		}
	}
	return list, told
}

// vram returns the device memory of a process. mem_usage is its sum with memory of the system, yet all there is in outputs
// without the parts; without a unit it may be bytes or MB, and is then left alone.
func vram(info record) (memory gpu.Opt[int64], bytes bool) {
	v, unitless := info["mem_usage"], ""
	if parts := info.section("memory_usage"); parts != nil {
		v, unitless = parts["vram_mem"], "B"
	}
	_, unit, _ := numberOf(v)
	return whole(quantity(v, octets, unitless)), cmp.Or(unit, unitless) == "B"
}

// The driver counts a process's memory in pages of 4 KiB and prints KiB; several versions of amd-smi make bytes of them by
// 1000 instead of 1024 (ROCm 6.1 to 9, in spite of a correction in 6.4.2).
const (
	page         = 4096
	decimalPages = 4000
	firstDecimal = 24 // the version of the library, ROCm 6.1
)

// memoryScale is what a version of amd-smi makes bytes of KiB by.
type memoryScale uint8

const (
	scaleUnknown memoryScale = iota
	scaleExact               // 1024
	scaleDecimal             // 1000
)

// scaleOf tells the scale by the numbers of bytes in an output. A true one is a multiple of a page's; where one cannot be, but is
// one of 4000, all were made that way. Memory is mostly allocated in pieces of 2 MiB, and such numbers may be either.
func scaleOf(list []amdProcess) memoryScale {
	scale := scaleUnknown
	for _, p := range list {
		m, _ := p.memory.Get()
		switch {
		case !p.bytes:
		case m%page == 0 && m%decimalPages != 0, m%page != 0 && m%decimalPages != 0:
			return scaleExact
		case m%page != 0:
			scale = scaleDecimal
		}
	}
	return scale
}

// rescale brings numbers of bytes that were made by 1000 to what they are.
func rescale(list []amdProcess) {
	for i := range list {
		if m, ok := list[i].memory.Get(); ok && list[i].bytes {
			list[i].memory = gpu.Some(m / 1000 * 1024)
		}
	}
}

// learnScale notes by what this version of amd-smi makes bytes: as the output tells, else as one did before, else as its version does.
func (s *AMD) learnScale(list []amdProcess) {
	told := scaleOf(list)
	if told != scaleUnknown {
		s.scale = told
	}
	if v := major(s.version); s.scale == scaleDecimal || s.scale == scaleUnknown && v >= firstDecimal && v < exactProcesses {
		rescale(list)
	}
}

// placeProcesses makes the processes of a node. Before 10.0 amd-smi lists a process under every device of which it has a
// context, and a process that opens the driver has one of all, with the same numbers under each. Such a process is left
// out: on which device its memory lies is not told, and under each it would count many times. It returns how many those are.
//
// told is under how many devices it could have been listed. Where the output ended early those are fewer than there are; then
// too much may be left out, and nothing is taken to be on the first device that is on all.
func placeProcesses(list []amdProcess, devices, told int, leaves map[int]leaf, exact bool) (result []gpu.Process, repeated int) {
	everywhere := make(map[int64]bool)
	if max(devices, told) > 1 && !exact {
		everywhere = repeatedProcesses(list, told)
	}
	type placed struct {
		pid int64
		on  leaf
	}
	seen := make(map[placed]bool, len(list))
	for _, p := range list {
		on, ok := leaves[p.index]
		key := placed{p.pid, on}
		if !ok || everywhere[p.pid] || seen[key] {
			continue
		}
		seen[key] = true
		process := on.process(p.pid)
		process.Memory, process.Executable = p.memory, p.name
		result = append(result, process)
	}
	slices.SortFunc(result, func(a, b gpu.Process) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.DeviceID, b.DeviceID), a.Location.Compare(b.Location))
	})
	return result, len(everywhere)
}

// repeatedProcesses returns the processes that are listed under every device with the same memory.
func repeatedProcesses(list []amdProcess, devices int) map[int64]bool {
	type listing struct {
		times  int
		memory gpu.Opt[int64]
		differ bool
	}
	listings := make(map[int64]listing, len(list))
	for _, p := range list {
		l := listings[p.pid]
		l.differ = l.differ || l.times > 0 && l.memory != p.memory
		l.memory = p.memory
		l.times++
		listings[p.pid] = l
	}
	result := make(map[int64]bool)
	for pid, l := range listings {
		if l.times >= devices && !l.differ {
			result[pid] = true
		}
	}
	return result
}
