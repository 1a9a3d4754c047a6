// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"cmp"
	"path"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// exactProcesses is the version of the library, ROCm 10.0, since which a process is listed only under the devices that it uses.
const exactProcesses = 27

// process is a process as amd-smi lists it under one device.
type process struct {
	pid    int64
	index  int // amd-smi's number of the device
	name   string
	memory gpu.Opt[int64] // bytes of the device's own memory, as printed
	system gpu.Opt[int64] // bytes of the machine's memory that it holds through the driver, as printed
	// Seconds since its start in which copy engines worked for it, and in which its queues were not allowed to run.
	sdma, evicted gpu.Counter[float64]
	bytes         bool // printed as a number of bytes
}

// parseProcesses reads the records of amd-smi process. A device without processes has the text "No running processes detected" instead.
// covered is the number of devices in the output.
func parseProcesses(records []record) (list []process, covered int) {
	for _, r := range records {
		index, ok := r.integer("gpu")
		if !ok || index >= smidevice.MaxDevices {
			continue
		}
		covered++
		items, _ := r["process_list"].([]any)
		if items == nil { // 5.7 and 6.0: one or several, called values
			switch v := r["values"].(type) {
			case []any:
				items = v
			case map[string]any:
				items = []any{v}
			}
		}
		for _, e := range items {
			outer, _ := e.(map[string]any)
			info := record(outer).section("process_info")
			pid, ok := info.integer("pid")
			if !ok || pid == 0 || len(list) >= smidevice.MaxProcesses {
				continue
			}
			p := process{pid: int64(pid), index: index, name: executable(info.text("name"))}
			p.memory, p.bytes = vram(info)
			p.system = smitext.Whole(smitext.Quantity(info.lookup("memory_usage", "gtt_mem"), smitext.Bytes, "B"))
			p.sdma, p.evicted = seconds(info["sdma_usage"], "us"), seconds(info["evicted_time"], "ms")
			list = append(list, p)
		}
	}
	return list, covered
}

// vram returns the device memory of a process. mem_usage includes system memory, but some outputs have nothing else. Without a unit it may be
// bytes or MB, and is not read.
func vram(info record) (memory gpu.Opt[int64], bytes bool) {
	v, unitless := info["mem_usage"], ""
	if parts := info.section("memory_usage"); parts != nil {
		v, unitless = parts["vram_mem"], "B"
	}
	_, unit, _ := smitext.NumberOf(v)
	return smitext.Whole(smitext.Quantity(v, smitext.Bytes, unitless)), cmp.Or(unit, unitless) == "B"
}

func seconds(v any, unitless string) gpu.Counter[float64] {
	s, ok := smitext.Quantity(v, smitext.Seconds, unitless).Get()
	if !ok {
		return gpu.Counter[float64]{}
	}
	return gpu.Total(s)
}

// executable returns the name of a program from the path that amd-smi prints.
func executable(name string) string {
	name = smitext.Label(name)
	if strings.HasPrefix(name, "/") {
		return path.Base(strings.TrimSuffix(name, " (deleted)"))
	}
	return name
}

// placeProcesses returns the processes of a node. Before 10.0 amd-smi lists a process under each device on which it has a context, and a
// process that opens the driver has one on every device, with the same numbers under each. Such processes are left out and counted in
// repeated: the output does not show on which device their memory is, and under each device they would count many times.
//
// covered is the number of devices under which a process could have been listed. If the output ended early, it is lower than the number of
// devices. Then too many processes may be left out, but a process on all devices is never placed on the first alone.
func placeProcesses(list []process, devices, covered int, leaves map[int]smidevice.Leaf, exact bool) (result []gpu.Process, repeated int) {
	everywhere := make(map[int64]bool)
	if max(devices, covered) > 1 && !exact {
		everywhere = repeatedProcesses(list, covered)
	}
	type placed struct {
		pid  int64
		leaf smidevice.Leaf
	}
	known := make(map[placed]bool, len(list))
	for _, p := range list {
		leaf, ok := leaves[p.index]
		key := placed{p.pid, leaf}
		if !ok || everywhere[p.pid] || known[key] {
			continue
		}
		known[key] = true
		process := leaf.Process(p.pid)
		process.Memory, process.SystemMemory, process.Executable = p.memory, p.system, p.name
		process.SDMATime, process.EvictedTime = p.sdma, p.evicted
		result = append(result, process)
	}
	smidevice.SortProcesses(result)
	return result, len(everywhere)
}

// repeatedProcesses returns the processes that are listed under every device with the same memory.
func repeatedProcesses(list []process, devices int) map[int64]bool {
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
