// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// readings are the main values of a GPU's page.
func readings(g view.GPUMetrics) map[string]string {
	clock, ok := g.Clocks["graphics"]
	if !ok {
		clock, ok = g.Clocks["sm"]
	}
	speed := dash
	if ok {
		speed = grouped(int(math.Floor(clock/1e6+0.5))) + " MHz"
	}
	return map[string]string{
		"utilization": percent(g.Utilization.General), "memory": percent(g.Memory.Utilization),
		"temperature": celsius(core(g.GPU)), "power": watts(g.Power.Watts), "clock": speed,
	}
}

// identity is what a GPU's page says of what it is.
func identity(g view.GPUMetrics) map[string]string {
	return map[string]string{
		"name": or(g.Name, dash), "vendor": or(g.Vendor, dash), "PCI address": or(g.PCIAddress, dash), "serial number": or(g.SerialNumber, dash),
		"driver": or(g.DriverVersion, dash), "firmware": or(g.FirmwareVersion, dash), "compute capability": or(g.ComputeCapability, dash),
	}
}

// gpuRow is a GPU in the table of its node.
func gpuRow(g *view.GPU) []string {
	name := grouped(*g.Index)
	if g.Parent != nil {
		name = or(g.PartitionProfile, "partition") + " " + name
	}
	state := []string{stateWord(g)}
	for _, reasons := range [][]string{g.Throttled, g.Faults} {
		if len(reasons) > 0 {
			state = append(state, strings.ReplaceAll(strings.Join(reasons, ", "), "_", " "))
		}
	}
	memory, power := dash, dash
	if g.Memory.Used != nil || g.Memory.Total != nil {
		memory = bytes(g.Memory.Used) + " of " + bytes(g.Memory.Total)
	}
	if g.Power.Watts != nil || g.Power.Limit != nil {
		power = watts(g.Power.Watts) + " of " + watts(g.Power.Limit)
	}
	return []string{
		name, or(g.Model, dash), strings.Join(state, "\n"), percent(g.Utilization.General), memory, celsius(core(g)), power, grouped(len(g.Processes)),
	}
}

// nodeFacts is what a node's page says of the machine.
func nodeFacts(n view.Node) map[string]string {
	count := func(v *int) string {
		if v == nil {
			return dash
		}
		return grouped(*v)
	}
	var drivers []string
	for _, d := range n.Drivers {
		drivers = append(drivers, d.Vendor+" "+d.Version)
	}
	facts := map[string]string{
		"Cluster": or(n.Cluster, dash), "Host": or(n.Host, dash), "Drivers": dash,
		"Visible": count(n.GPUCount), "Missing": count(n.Missing), "Unmanaged": count(n.Unmanaged), "Memory": percent(n.Memory.Utilization),
	}
	if len(drivers) > 0 {
		facts["Drivers"] = strings.Join(drivers, ", ")
	}
	return facts
}

// sourceLines are a node's sources, and why they cannot be read.
func sourceLines(n view.Node) []string {
	lines := []string{}
	for _, s := range n.Sources {
		line := s.Name
		if s.Vendor != nil {
			line += " (" + *s.Vendor + ")"
		}
		ofSource := func(g *view.GPU) bool { return s.Vendor == nil || g.Vendor != nil && *g.Vendor == *s.Vendor }
		switch {
		case !s.Readable:
			line += ": cannot be read: " + strings.ReplaceAll(strings.Join(s.Reasons, ", "), "_", " ")
		case slices.ContainsFunc(n.GPUs, ofSource):
			line += ": readable"
		default:
			line += ": no GPU found"
		}
		lines = append(lines, line)
	}
	return lines
}

// core is the hottest sensor of the chip itself.
func core(g *view.GPU) *float64 {
	var hottest *float64
	for _, t := range g.Temperatures {
		if t.Sensor != "memory" && t.Celsius != nil && (hottest == nil || *t.Celsius > *hottest) {
			hottest = t.Celsius
		}
	}
	return hottest
}

func bytes(v *float64) string {
	if v == nil {
		return dash
	}
	value, unit := *v, "B"
	for _, larger := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if value < 1024 {
			break
		}
		value, unit = value/1024, larger
	}
	if unit == "B" {
		return fmt.Sprintf("%.0f B", value)
	}
	return digits(value) + " " + unit
}
