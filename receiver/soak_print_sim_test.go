// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// soakPrint is what one call prints.
type soakPrint struct {
	strings.Builder

	f     *soakTool
	exit  int
	hangs bool
}

func (p *soakPrint) line(format string, a ...any) { fmt.Fprintf(p, format+"\n", a...) }

func (p *soakPrint) fail(exit int, message string) { p.exit = exit; p.line("%s\n", message) }

func newSoakPrint(f *soakTool, args []string) *soakPrint {
	p := &soakPrint{f: f}
	slots, selected := f.slots(), func(int) bool { return true }
	if n := len(args) - 2; n > 0 && args[n] == "-i" {
		indices := strings.Split(args[n+1], ",")
		selected = func(index int) bool { return slices.Contains(indices, strconv.Itoa(index)) }
		if last := indices[len(indices)-1]; last >= strconv.Itoa(len(slots)) {
			p.fail(6, "No devices were found")
			return p
		}
		args = args[:n]
	}
	switch {
	case args[0] == "--help-query-gpu":
		for _, name := range soakColumns {
			p.line("%q\nWhat it is.\n", name)
		}
		return p
	case strings.Contains(f.machine.system, "kind = driver"):
		p.fail(9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.")
		return p
	case strings.Contains(f.machine.system, "MISMATCH"):
		p.fail(18, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.1")
		return p
	case strings.Contains(f.machine.system, "nvmlInit"):
		p.fail(255, "Failed to initialize NVML: Unknown Error")
		return p
	case f.machine.system != "":
		p.fail(255, "Unable to determine the number of GPUs")
		return p
	}
	var there []int
	for index, slot := range slots {
		switch {
		case !selected(index):
		case strings.Contains(f.machine.faults[slot], "hang = true") && args[0] != "-L":
			p.hangs = true
		case strings.Contains(f.machine.faults[slot], "at_start = true"):
			if args[0] == "-L" {
				p.fail(15, fmt.Sprintf("Unable to determine the device handle for gpu %s: GPU is lost.  Reboot the system to recover this GPU", soakAddresses[slot]))
				break
			}
			p.fail(15, fmt.Sprintf("Unable to determine the device handle for GPU%d: %s: GPU is lost.  Reboot the system to recover this GPU", index, soakAddresses[slot]))
			if f.machine.driver%2 == 0 { // the others are not told of
				return p
			}
		default:
			there = append(there, index)
		}
	}
	switch args[0] {
	case "-q":
		p.xml(slots, there)
	case "-L":
		p.list(slots, there)
	case "pmon":
		p.pmon(slots, there)
	default:
		if names, ok := strings.CutPrefix(args[0], "--query-gpu="); ok {
			p.table(slots, there, strings.Split(names, ","))
		} else {
			p.apps(slots, there)
		}
	}
	return p
}

// slots are the GPUs in the driver's order.
func (f *soakTool) slots() []int {
	order := []int{0, 1, 2, 3}
	if text, ok := strings.CutPrefix(f.machine.order, "order = "); ok {
		for i, digit := range strings.Split(text, ",") {
			order[i], _ = strconv.Atoi(digit)
		}
	}
	return slices.DeleteFunc(order, func(slot int) bool { return f.machine.absent[slot] })
}

// value is what is printed of a GPU, or why nothing is.
func (f *soakTool) value(slot int, function, text string) string {
	_, returned, _ := strings.Cut(f.machine.faults[slot], "return = ")
	returned, _, _ = strings.Cut(returned, "\n")
	switch fault := f.machine.faults[slot]; {
	case strings.HasPrefix(fault, "kind = lost"), returned == "GPU_IS_LOST":
		return "GPU is lost"
	case strings.HasPrefix(fault, "kind = reset"):
		return "GPU requires reset"
	case returned != "" && strings.HasPrefix(fault, "function = "+function+"\n"):
		return map[string]string{
			"UNKNOWN": "Unknown Error", "TIMEOUT": "Timeout", "NOT_FOUND": "Not Found", "IN_USE": "In use by another client",
		}[returned]
	}
	return text
}

// columns are what is told of a GPU, by the columns of its table.
func (f *soakTool) columns(index, slot int) map[string]string {
	value := func(function, format string, a ...any) string {
		return f.value(slot, "nvmlDeviceGet"+function, fmt.Sprintf(format, a...))
	}
	mig, busy := "N/A", "60 %"
	if slot == 0 {
		if mig = "Disabled"; !f.machine.whole {
			mig, busy = "Enabled", "N/A"
		}
	}
	return map[string]string{
		"index": strconv.Itoa(index), "driver_version": fmt.Sprint("580.", f.machine.driver), "count": strconv.Itoa(len(f.slots())),
		"uuid": value("UUID", "%s", f.machine.uuid(slot)), "name": value("Name", "NVIDIA H100"), "pci.bus_id": "0000" + strings.ToUpper(soakAddresses[slot]),
		"mig.mode.current": value("MigMode", "%s", mig), "minor": strings.Replace(value("MinorNumber", "%d", slot), "Not Found", "Unknown Error", 1), // the driver never says so of it
		"utilization.gpu": value("UtilizationRates", "%s", busy),
		"memory.total":    value("MemoryInfo", "81559 MiB"), "memory.used": value("MemoryInfo", "500 MiB"), "temperature.gpu": value("Temperature", "40"),
		"power.draw": value("PowerUsage", "%d.00 W", f.machine.watts[slot]), "compute_cap": value("CudaComputeCapability", "9.0"),
		"clocks_event_reasons_counters.sw_power_cap": value("FieldValues", "%.0f us", f.machine.slowed[slot]*1e6),
	}
}

var soakColumns = []string{
	"index", "driver_version", "count", "uuid", "name", "pci.bus_id", "mig.mode.current", "utilization.gpu", "memory.total", "memory.used",
	"temperature.gpu", "power.draw", "clocks_event_reasons_counters.sw_power_cap",
}
