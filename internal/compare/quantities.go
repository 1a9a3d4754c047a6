// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The names of the elements of a device's arrays.
var (
	tasks   = [gpu.NumTasks]string{"general", "encoder", "decoder", "JPEG", "optical flow", "media"}
	sensors = [gpu.NumSensors]string{"GPU", "memory", "hotspot", "edge"}
	limited = [gpu.NumLimits]string{"degraded", "critical", "max", "enforced", "min", "default"}
	domains = [gpu.NumClockDomains]string{"graphics", "SM", "memory", "video"}
	reasons = [gpu.NumThrottleReasons]string{
		"software power cap", "hardware slowdown", "sync boost", "software thermal", "hardware thermal", "hardware power brake", "PPT", "current",
		"GPU thermal", "memory thermal", "VR thermal", "external thermal", "firmware", "board limit", "reliability", "low utilization", "host limit, power", "host limit, thermal", "unspecified",
	}
	errorTypes = [gpu.NumErrorTypes]string{"corrected", "uncorrected", "deferred"}
)

// addQuantities adds the readings of a device, in the units of package gpu.
func addQuantities(values map[string]value, d *gpu.Device) {
	for i, v := range d.Utilization {
		add(values, "utilization, "+tasks[i], "", fraction, v)
	}
	add(values, "utilization, memory controller", "", fraction, d.MemoryController)
	addMemory(values, &d.Memory)
	for i, v := range d.Temperature {
		add(values, "temperature, "+sensors[i], "°C", celsius, v)
		for limit, v := range d.TemperatureLimit[i] {
			add(values, "temperature limit, "+sensors[i]+" "+limited[limit], "°C", limits, v)
		}
	}
	add(values, "power", "W", watts, d.Power.Draw)
	add(values, "power, instantaneous", "W", watts, d.Power.Instant)
	add(values, "power, module", "W", watts, d.Power.Module)
	for i, v := range d.Power.Limit {
		add(values, "power limit, "+limited[i], "W", wattsLimit, v)
	}
	add(values, "energy", "J", joules, total(d.Energy))
	for i, c := range d.Clocks {
		add(values, "clock, "+domains[i], "Hz", hertz, c.Speed)
		add(values, "clock limit, "+domains[i], "Hz", hertzLimit, c.Limit)
	}
	for i := range d.Throttle {
		if active, known := d.Throttle[i].Active.Get(); known {
			values["throttled, "+reasons[i]] = value{order: propertyOrder, value: active}
		}
	}
	addSensors(values, d)
	addBus(values, &d.PCIe)
	addErrors(values, d)
}

func addMemory(values map[string]value, m *gpu.Memory) {
	add(values, "memory", "By", memory, number(m.Limit))
	add(values, "memory, used", "By", usedMemory, number(m.Usage))
	add(values, "memory, reserved", "By", usedMemory, number(m.Reserved))
	add(values, "memory, visible to the CPU", "By", memory, number(m.VisibleLimit))
	add(values, "memory, visible to the CPU and used", "By", usedMemory, number(m.VisibleUsage))
	add(values, "memory, of the system", "By", memory, number(m.SystemLimit))
	add(values, "memory, of the system and used", "By", usedMemory, number(m.SystemUsage))
}

func addErrors(values map[string]value, d *gpu.Device) {
	for _, e := range d.Errors {
		name := "memory errors, " + errorTypes[e.Type]
		if e.Block != "" {
			name += " " + e.Block
		}
		if e.Lifetime {
			name += ", lifetime"
		}
		add(values, name, "", countedMore, total(e.Count))
	}
	add(values, "remapped rows, corrected", "", exact, total(d.RemappedRows.Corrected))
	add(values, "remapped rows, uncorrected", "", exact, total(d.RemappedRows.Uncorrected))
	add(values, "retired pages, corrected", "", exact, total(d.RetiredPages.Corrected))
	add(values, "retired pages, uncorrected", "", exact, total(d.RetiredPages.Uncorrected))
	add(values, "bad pages", "", exact, number(d.RetiredPages.Bad))
	add(values, "bad pages, limit", "", exact, number(d.RetiredPages.BadLimit))
}

// addProcesses adds the memory of each process on a device. Names of processes are left out.
func addProcesses(values map[string]value, d *gpu.Device, processes []gpu.Process) {
	if d.ProcessesUnread {
		return
	}
	for i := range processes {
		if p := &processes[i]; p.DeviceID == d.ID {
			add(values, fmt.Sprintf("process %d, memory", p.PID), "By", usedMemory, number(p.Memory))
			add(values, fmt.Sprintf("process %d, memory of the system", p.PID), "By", usedMemory, number(p.SystemMemory))
		}
	}
}
