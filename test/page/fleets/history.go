// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleets

import (
	"math"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
)

const (
	span = 15 * time.Minute
	step = 30 * time.Second
)

// past returns a history that ends with the present value; a value that was not read has no history.
func past(g *view.GPU, metric string, now, since time.Time) (view.History, bool) {
	value, unit := present(g, metric)
	h := view.History{ID: g.ID, Metric: metric, Unit: unit, Points: []view.HistoryPoint{}}
	if unit == "" {
		return h, false
	}
	if value == nil {
		return h, true
	}
	for age := span; age >= 0; age -= step {
		pointTime := now.Add(-age)
		if !pointTime.After(since) {
			continue
		}
		wave := 1 - 0.12*(1+math.Sin(age.Minutes()*1.7+float64(len(metric))))/2*math.Min(1, age.Minutes())
		v := *value * wave
		h.Points = append(h.Points, view.HistoryPoint{Time: pointTime, Value: &v, Min: new(v * 0.9), Max: new(min(v*1.05, 1e12))})
	}
	if len(h.Points) > 20 {
		h.Points[8] = view.HistoryPoint{Time: h.Points[8].Time} // a read that failed
	}
	return h, true
}

func present(g *view.GPU, metric string) (*float64, string) {
	switch metric {
	case "hw.gpu.utilization":
		return g.Utilization.General, "1"
	case "hw.gpu.memory.utilization":
		return g.Memory.Utilization, "1"
	case "hw.power":
		return g.Power.Watts, "W"
	case "hw.temperature":
		if len(g.Temperatures) > 0 {
			return g.Temperatures[0].Celsius, "Cel"
		}
		return nil, "Cel"
	case "hw.gpu.io":
		if g.Utilization.General == nil {
			return nil, "By/s"
		}
		return new(*g.Utilization.General * 20e9), "By/s"
	case "hw.gpu.speed":
		if v, ok := g.Clocks["graphics"]; ok {
			return &v, "Hz"
		}
		return nil, "Hz"
	}
	return nil, ""
}
