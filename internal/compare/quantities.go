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
func addQuantities(to map[string]value, d *gpu.Device) {
	for i, v := range d.Utilization {
		add(to, "utilization, "+tasks[i], "", fraction, v)
	}
	add(to, "utilization, memory controller", "", fraction, d.MemoryController)
	addMemory(to, &d.Memory)
	for i, v := range d.Temperature {
		add(to, "temperature, "+sensors[i], "°C", celsius, v)
		for limit, v := range d.TemperatureLimit[i] {
			add(to, "temperature limit, "+sensors[i]+" "+limited[limit], "°C", limits, v)
		}
	}
	add(to, "power", "W", watts, d.Power.Draw)
	add(to, "power, instantaneous", "W", watts, d.Power.Instant)
	add(to, "power, module", "W", watts, d.Power.Module)
	for i, v := range d.Power.Limit {
		add(to, "power limit, "+limited[i], "W", wattsLimit, v)
	}
	add(to, "energy", "J", joules, total(d.Energy))
	for i, c := range d.Clocks {
		add(to, "clock, "+domains[i], "Hz", hertz, c.Speed)
		add(to, "clock limit, "+domains[i], "Hz", hertzLimit, c.Limit)
	}
	for i := range d.Throttle {
		if active, known := d.Throttle[i].Active.Get(); known {
			to["throttled, "+reasons[i]] = value{order: propertyOrder, value: active}
		}
	}
	addSensors(to, d)
	addBus(to, &d.PCIe)
	addErrors(to, d)
}

func addMemory(to map[string]value, m *gpu.Memory) {
	add(to, "memory", "By", memory, number(m.Limit))
	add(to, "memory, used", "By", usedMemory, number(m.Usage))
	add(to, "memory, reserved", "By", usedMemory, number(m.Reserved))
	add(to, "memory, visible to the CPU", "By", memory, number(m.VisibleLimit))
	add(to, "memory, visible to the CPU and used", "By", usedMemory, number(m.VisibleUsage))
	add(to, "memory, of the system", "By", memory, number(m.SystemLimit))
	add(to, "memory, of the system and used", "By", usedMemory, number(m.SystemUsage))
}

func addErrors(to map[string]value, d *gpu.Device) {
	for _, e := range d.Errors {
		name := "memory errors, " + errorTypes[e.Type]
		if e.Block != "" {
			name += " " + e.Block
		}
		if e.Lifetime {
			name += ", lifetime"
		}
		add(to, name, "", countedMore, total(e.Count))
	}
	add(to, "remapped rows, corrected", "", exact, total(d.RemappedRows.Corrected))
	add(to, "remapped rows, uncorrected", "", exact, total(d.RemappedRows.Uncorrected))
	add(to, "retired pages, corrected", "", exact, total(d.RetiredPages.Corrected))
	add(to, "retired pages, uncorrected", "", exact, total(d.RetiredPages.Uncorrected))
	add(to, "bad pages", "", exact, number(d.RetiredPages.Bad))
	add(to, "bad pages, limit", "", exact, number(d.RetiredPages.BadLimit))
}

// addProcesses adds the memory of each process on a device. Names of processes are left out.
func addProcesses(to map[string]value, d *gpu.Device, processes []gpu.Process) {
	if d.ProcessesUnread {
		return
	}
	for i := range processes {
		if p := &processes[i]; p.DeviceID == d.ID {
			add(to, fmt.Sprintf("process %d, memory", p.PID), "By", usedMemory, number(p.Memory))
			add(to, fmt.Sprintf("process %d, memory of the system", p.PID), "By", usedMemory, number(p.SystemMemory))
		}
	}
}
