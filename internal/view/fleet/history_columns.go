// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// numColumns is how many metrics have a history.
const numColumns = 14

// column is a metric that has a history.
type column struct {
	name, unit string
	rate       bool // of a total, what it grows in a second
	value      func(*view.GPU) *float64
}

// columns are the metrics that have a history, by the receiver's name, with a label at the end if a metric has several.
var columns = [numColumns]column{
	{metadata.MetricsInfo.HwFanSpeedRatio.Name, "1", false, fanOf},
	{metadata.MetricsInfo.HwGpuInterconnectIo.Name, "By/s", true, interconnectTotal},
	{metadata.MetricsInfo.HwGpuIo.Name, "By/s", true, func(g *view.GPU) *float64 { return bothOf(g.PCIe.Transmitted, g.PCIe.Received) }},
	{metadata.MetricsInfo.HwGpuMemoryControllerUtilization.Name, "1", false, func(g *view.GPU) *float64 { return g.Utilization.MemoryController }},
	{metadata.MetricsInfo.HwGpuMemoryUsage.Name, "By", false, func(g *view.GPU) *float64 { return g.Memory.Used }},
	{metadata.MetricsInfo.HwGpuMemoryUtilization.Name, "1", false, func(g *view.GPU) *float64 { return g.Memory.Utilization }},
	{metadata.MetricsInfo.HwGpuSpeed.Name, "Hz", false, func(g *view.GPU) *float64 { return firstOf(g.Clocks, "graphics", "sm") }},
	{metadata.MetricsInfo.HwGpuSpeed.Name + ".memory", "Hz", false, func(g *view.GPU) *float64 { return firstOf(g.Clocks, "memory") }},
	{metadata.MetricsInfo.HwGpuUtilization.Name, "1", false, func(g *view.GPU) *float64 { return g.Utilization.General }},
	{metadata.MetricsInfo.HwGpuUtilization.Name + ".decoder", "1", false, func(g *view.GPU) *float64 { return g.Utilization.Decoder }},
	{metadata.MetricsInfo.HwGpuUtilization.Name + ".encoder", "1", false, func(g *view.GPU) *float64 { return g.Utilization.Encoder }},
	{metadata.MetricsInfo.HwPower.Name, "W", false, func(g *view.GPU) *float64 { return g.Power.Watts }},
	{metadata.MetricsInfo.HwTemperature.Name, "Cel", false, func(g *view.GPU) *float64 { return hottest(g, "gpu", "edge", "hotspot") }},
	{metadata.MetricsInfo.HwTemperature.Name + ".memory", "Cel", false, func(g *view.GPU) *float64 { return hottest(g, "memory") }},
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
	for _, link := range g.Interconnects {
		sum = sumOf(sum, bothOf(link.Transmitted, link.Received))
	}
	return sum
}

// bothOf returns the sum of two directions, nil without one of them: when it came back, the rate would cover its whole past.
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
