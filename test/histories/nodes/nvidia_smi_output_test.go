// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// smiOutput is the output of one run.
type smiOutput struct {
	strings.Builder

	f     *nvidiaSMINode
	exit  int
	hangs bool
}

func (p *smiOutput) line(format string, a ...any) { fmt.Fprintf(p, format+"\n", a...) }

func (p *smiOutput) fail(exit int, message string) { p.exit = exit; p.line("%s\n", message) }

func printSMI(f *nvidiaSMINode, args []string) *smiOutput {
	p := &smiOutput{f: f}
	order, selected := f.order(), func(int) bool { return true }
	if n := len(args) - 2; n > 0 && args[n] == "-i" {
		indices := strings.Split(args[n+1], ",")
		selected = func(index int) bool { return slices.Contains(indices, strconv.Itoa(index)) }
		if last := indices[len(indices)-1]; last >= strconv.Itoa(len(order)) {
			p.fail(6, "No devices were found")
			return p
		}
		args = args[:n]
	}
	switch {
	case args[0] == "--help-query-gpu":
		for _, name := range smiColumns {
			p.line("%q\nWhat it is.\n", name)
		}
		return p
	case strings.Contains(f.gpus.system, "kind = driver"):
		p.fail(9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.")
		return p
	case strings.Contains(f.gpus.system, "MISMATCH"):
		p.fail(18, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.1")
		return p
	case strings.Contains(f.gpus.system, "nvmlInit"):
		p.fail(255, "Failed to initialize NVML: Unknown Error")
		return p
	case f.gpus.system != "":
		p.fail(255, "Unable to determine the number of GPUs")
		return p
	}
	var there []int
	for index, number := range order {
		switch {
		case !selected(index):
		case strings.Contains(f.gpus.faults[number], "hang = true") && args[0] != "-L":
			p.hangs = true
		case strings.Contains(f.gpus.faults[number], "at_start = true"):
			if args[0] == "-L" {
				p.fail(15, fmt.Sprintf("Unable to determine the device handle for gpu %s: GPU is lost.  Reboot the system to recover this GPU", nvidiaAddresses[number]))
				break
			}
			p.fail(15, fmt.Sprintf("Unable to determine the device handle for GPU%d: %s: GPU is lost.  Reboot the system to recover this GPU", index, nvidiaAddresses[number]))
			if f.gpus.driver%2 == 0 { // the others are not listed
				return p
			}
		default:
			there = append(there, index)
		}
	}
	switch args[0] {
	case "-q":
		p.xml(order, there)
	case "-L":
		p.list(order, there)
	case "pmon":
		p.pmon(order, there)
	default:
		if names, ok := strings.CutPrefix(args[0], "--query-gpu="); ok {
			p.table(order, there, strings.Split(names, ","))
		} else if strings.HasPrefix(args[0], "--query-remapped-rows=") {
			p.fail(255, "ERROR: Option "+args[0]+" is not recognized. Please run 'nvidia-smi -h'.")
		} else {
			p.apps(order, there)
		}
	}
	return p
}

// order returns the GPUs in the driver's order.
func (f *nvidiaSMINode) order() []int {
	order := []int{0, 1, 2, 3}
	if text, ok := strings.CutPrefix(f.gpus.order, "order = "); ok {
		for i, digit := range strings.Split(text, ",") {
			order[i], _ = strconv.Atoi(digit)
		}
	}
	return slices.DeleteFunc(order, func(number int) bool { return f.gpus.absent[number] })
}

// value returns the printed text for a GPU: a value, or the reason why it is missing.
func (f *nvidiaSMINode) value(number int, function, text string) string {
	_, returned, _ := strings.Cut(f.gpus.faults[number], "return = ")
	returned, _, _ = strings.Cut(returned, "\n")
	switch fault := f.gpus.faults[number]; {
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

// columns are the values of a GPU by the columns of --query-gpu.
func (f *nvidiaSMINode) columns(index, number int) map[string]string {
	value := func(function, format string, a ...any) string {
		return f.value(number, "nvmlDeviceGet"+function, fmt.Sprintf(format, a...))
	}
	mig, busy := "N/A", "60 %"
	if number == 0 {
		if mig = "Disabled"; !f.gpus.whole {
			mig, busy = "Enabled", "N/A"
		}
	}
	return map[string]string{
		"index": strconv.Itoa(index), "driver_version": fmt.Sprint("580.", f.gpus.driver), "count": strconv.Itoa(len(f.order())),
		"uuid": value("UUID", "%s", f.gpus.uuid(number)), "name": value("Name", "NVIDIA H100"), "pci.bus_id": "0000" + strings.ToUpper(nvidiaAddresses[number]),
		"mig.mode.current": value("MigMode", "%s", mig), "minor": strings.Replace(value("MinorNumber", "%d", number), "Not Found", "Unknown Error", 1), // the driver never answers so
		"utilization.gpu": value("UtilizationRates", "%s", busy),
		"memory.total":    value("MemoryInfo", "81559 MiB"), "memory.used": value("MemoryInfo", "500 MiB"), "temperature.gpu": value("Temperature", "40"),
		"power.draw": value("PowerUsage", "%d.00 W", f.gpus.watts[number]), "compute_cap": value("CudaComputeCapability", "9.0"),
		"clocks_event_reasons_counters.sw_power_cap": value("FieldValues", "%.0f us", f.gpus.slowed[number]*1e6),
	}
}

var smiColumns = []string{
	"index", "driver_version", "count", "uuid", "name", "pci.bus_id", "mig.mode.current", "utilization.gpu", "memory.total", "memory.used",
	"temperature.gpu", "power.draw", "clocks_event_reasons_counters.sw_power_cap",
}
