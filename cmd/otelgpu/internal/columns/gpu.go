// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package columns

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
)

// GPU is a device as a row.
type GPU = *view.GPU

// GPUs are the columns of GPUs, at the time of the answer that they are from.
func GPUs(now time.Time) Set[GPU] {
	return Set[GPU]{
		identity(optional(text("CLUSTER", "cluster", 65, func(g GPU) *string { return g.Cluster })), 8),
		identity(text("NODE", "node", 60, func(g GPU) *string { return &g.Node }), 14),
		{Title: "GPU", Field: "name", Keep: 100, Identity: true, Min: 10, Text: GPUName},
		shortened(text("MODEL", "model", 10, func(g GPU) *string { return g.Model }), 12),
		{
			Title: "STATE", Field: "health", Keep: 95, Min: 13,
			Text:  func(g GPU) string { return GPUState(g, now) },
			Level: GPULevel,
		},
		{
			Title: "UTIL", Field: "utilization", Keep: 90, Number: true,
			Text:  func(g GPU) string { return display.Bar(g.Utilization.General, 10) },
			Level: func(g GPU) Level { return busy(g.Utilization.General) },
		},
		{
			Title: "MEMORY", Field: "memory_used_bytes", Keep: 80, Right: true, Number: true,
			Text: func(g GPU) string { return display.GiBOf(g.Memory.Used, g.Memory.Total) },
		},
		{
			Title: "TEMP", Field: "temperature_celsius", Keep: 50, Right: true, Number: true,
			Text:  func(g GPU) string { return display.Celsius(query.CoreTemperature(g)) },
			Level: hot,
		},
		{
			Title: "POWER", Field: "power_watts", Keep: 45, Right: true, Number: true,
			Text: func(g GPU) string { return display.WattsOf(g.Power.Watts, g.Power.Limit) },
		},
		amount("CLOCK", "clock_graphics_hertz", 15, func(g GPU) *float64 { return ComputeClock(g.Clocks) }, display.MHz),
		{
			Title: "THROTTLED", Field: "throttled", Keep: 40, Min: 12,
			Text: func(g GPU) string { return display.Texts(g.Throttled) },
			Level: func(g GPU) Level {
				if len(g.Throttled) == 0 {
					return Faint
				}
				return Warn
			},
		},
		{
			Title: "PROC", Field: "processes", Keep: 30, Right: true, Number: true,
			Text: func(g GPU) string { return display.Count(query.ProcessCount(g)) },
		},
		{Title: "HOLDER", Keep: 70, Min: 12, Text: holder},
	}
}

// name is hw.name, or the ID if the GPU has no name.
func name(g GPU) *string {
	if g.Name != nil && *g.Name != "" {
		return g.Name
	}
	return &g.ID
}

// GPUName shows partitions below their GPU.
func GPUName(g GPU) string {
	text := display.Text(name(g))
	if g.Parent != nil {
		text = "└ " + text
		if g.PartitionProfile != nil {
			text += " " + display.Text(g.PartitionProfile)
		}
	}
	return text
}

// GPUState is a GPU's status with its faults, and how old it is if its node is silent.
func GPUState(g GPU, now time.Time) string {
	if !g.Stale {
		return gpuState(g)
	}
	last := "stale, "
	if g.Status == nil || *g.Status != "ok" {
		last += "last " + gpuState(g) + ", "
	}
	return last + display.Ago(now.Sub(g.LastSeen)) + " ago"
}

func gpuState(g GPU) string {
	text := display.Text(g.Status)
	if len(g.Faults) > 0 {
		text += " (" + display.Texts(g.Faults) + ")"
	}
	return text
}

// GPULevel is how much the state of a GPU matters.
func GPULevel(g GPU) Level {
	switch {
	case g.Stale:
		return Faint
	case g.Status != nil && *g.Status == "failed":
		return Bad
	case g.Status == nil:
		return Faint
	case *g.Status == "ok" && len(g.Faults) == 0:
		return Good
	default:
		return Warn
	}
}

// busy shows idle GPUs faintly.
func busy(share *float64) Level {
	switch {
	case share == nil || *share < 0.01:
		return Faint
	default:
		return Normal
	}
}

// hot warns within 5 °C of a limit at which the GPU slows down or shuts down. If the driver says how many degrees are left, that counts: it follows
// the hottest spot, which no sensor here shows.
func hot(g GPU) Level {
	margins := g.Margins
	if len(margins) == 0 {
		margins = map[string]float64{}
		for _, t := range g.Temperatures {
			for name, limit := range t.Limits {
				if t.Celsius != nil {
					margins[name+" "+t.Sensor] = limit - *t.Celsius
				}
			}
		}
	}
	for name, left := range margins {
		if strings.HasPrefix(name, "high") && left <= 5 {
			return Warn
		}
	}
	return Normal
}

// ComputeClock is the clock of the compute units in hertz.
func ComputeClock(clocks map[string]float64) *float64 {
	for _, domain := range []string{"graphics", "sm"} {
		if hertz, known := clocks[domain]; known {
			return &hertz
		}
	}
	return nil
}

// holder names the first holder of the GPU and how many others hold it. It is "free" if the GPU is unallocated.
func holder(g GPU) string {
	if h := holding(g); h != nil {
		return display.Text(h)
	}
	if g.Allocated != nil && *g.Allocated == 0 && len(g.Containers) == 0 {
		return "free"
	}
	return display.Absent
}

func holding(g GPU) *string {
	names := map[string]bool{}
	for _, c := range g.Containers {
		if c != nil && c.Allocated != nil && *c.Allocated {
			names[UserName(&c.User)] = true
		}
	}
	all := slices.Sorted(maps.Keys(names))
	switch len(all) {
	case 0:
		return nil
	case 1:
		return &all[0]
	default:
		text := all[0] + " +" + display.Count(new(len(all)-1))
		return &text
	}
}
