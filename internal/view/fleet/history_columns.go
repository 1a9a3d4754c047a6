// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// numColumns is how many metrics have a history.
const numColumns = 14

// column is a metric that has a history.
type column struct {
	name, unit string
	rate       bool // of a total, what it grows in a second
	of         func(*view.GPU) *float64
}

// columns are the metrics that have a history, by name: those of the receiver, with a label at the end where a metric has several.
var columns = [numColumns]column{
	{"hw.fan.speed_ratio", "1", false, fanOf},
	{"hw.gpu.interconnect.io", "By/s", true, interconnectTotal},
	{"hw.gpu.io", "By/s", true, func(g *view.GPU) *float64 { return bothOf(g.PCIe.Transmitted, g.PCIe.Received) }},
	{"hw.gpu.memory.controller.utilization", "1", false, func(g *view.GPU) *float64 { return g.Utilization.MemoryController }},
	{"hw.gpu.memory.usage", "By", false, func(g *view.GPU) *float64 { return g.Memory.Used }},
	{"hw.gpu.memory.utilization", "1", false, func(g *view.GPU) *float64 { return g.Memory.Utilization }},
	{"hw.gpu.speed", "Hz", false, func(g *view.GPU) *float64 { return firstOf(g.Clocks, "graphics", "sm") }},
	{"hw.gpu.speed.memory", "Hz", false, func(g *view.GPU) *float64 { return firstOf(g.Clocks, "memory") }},
	{"hw.gpu.utilization", "1", false, func(g *view.GPU) *float64 { return g.Utilization.General }},
	{"hw.gpu.utilization.decoder", "1", false, func(g *view.GPU) *float64 { return g.Utilization.Decoder }},
	{"hw.gpu.utilization.encoder", "1", false, func(g *view.GPU) *float64 { return g.Utilization.Encoder }},
	{"hw.power", "W", false, func(g *view.GPU) *float64 { return g.Power.Watts }},
	{"hw.temperature", "Cel", false, func(g *view.GPU) *float64 { return hottest(g, "gpu", "edge", "hotspot") }},
	{"hw.temperature.memory", "Cel", false, func(g *view.GPU) *float64 { return hottest(g, "memory") }},
}

func firstOf(values map[string]float64, names ...string) *float64 {
	for _, name := range names {
		if v, ok := values[name]; ok {
			return &v
		}
	}
	return nil
}

// hottest returns the highest temperature of some sensors.
func hottest(g *view.GPU, sensors ...string) *float64 {
	var highest *float64
	for _, t := range g.Temperatures {
		if t.Celsius != nil && slices.Contains(sensors, t.Sensor) && (highest == nil || *t.Celsius > *highest) {
			highest = t.Celsius
		}
	}
	return highest
}

// fanOf returns the fastest fan.
func fanOf(g *view.GPU) *float64 {
	var fastest *float64
	for i := range g.Fans {
		if speed := &g.Fans[i].Speed; fastest == nil || *speed > *fastest {
			fastest = speed
		}
	}
	return fastest
}

func interconnectTotal(g *view.GPU) *float64 {
	var sum *float64
	for _, of := range g.Interconnects {
		sum = sumOf(sum, bothOf(of.Transmitted, of.Received))
	}
	return sum
}

// bothOf returns the sum of two directions, nil without one of them: where it comes back, the rate would be that of its whole past.
func bothOf(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return sumOf(a, b)
}

func sumOf(parts ...*float64) *float64 {
	var sum *float64
	for _, part := range parts {
		switch {
		case part == nil:
		case sum == nil:
			first := *part
			sum = &first
		default:
			*sum += *part
		}
	}
	return sum
}
