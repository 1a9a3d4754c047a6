// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// view is the last that was sent of each GPU.
type view struct {
	gpus    map[string]*gpu
	vendors map[string]time.Time // when each vendor's source has last sent something
	points  int                  // of the last message
}

// gpu is one device. A value that was not sent is nil.
type gpu struct {
	id, name, model, vendor, parent, state, fault string
	utilization, memoryUsed, memoryLimit          *float64
	temperature, power, powerLimit, clock         *float64
	processes                                     int
}

func newView() *view { return &view{gpus: map[string]*gpu{}, vendors: map[string]time.Time{}} }

// update takes in one message, which holds all of one vendor.
func (v *view) update(metrics pmetric.Metrics) {
	v.points = metrics.DataPointCount()
	fresh := map[string]*gpu{}
	for _, resource := range metrics.ResourceMetrics().All() {
		for _, scope := range resource.ScopeMetrics().All() {
			for _, metric := range scope.Metrics().All() {
				for _, p := range pointsOf(metric).All() {
					v.point(fresh, metric.Name(), p)
				}
			}
		}
	}
	vendors := map[string]bool{}
	for _, g := range fresh {
		vendors[g.vendor] = true
	}
	maps.DeleteFunc(v.gpus, func(_ string, g *gpu) bool { return vendors[g.vendor] || len(fresh) == 0 })
	maps.Copy(v.gpus, fresh)
}

func pointsOf(metric pmetric.Metric) pmetric.NumberDataPointSlice {
	if metric.Type() == pmetric.MetricTypeSum {
		return metric.Sum().DataPoints()
	}
	return metric.Gauge().DataPoints()
}

func (v *view) point(fresh map[string]*gpu, metric string, p pmetric.NumberDataPoint) {
	id := text(p, "hw.id")
	if id == "" {
		if metric == "hw.gpu.count" {
			v.vendors[text(p, "hw.vendor")] = p.Timestamp().AsTime()
		}
		return
	}
	g := fresh[id]
	if g == nil {
		g = &gpu{id: id}
		fresh[id] = g
	}
	value := number(p)
	switch metric {
	case "hw.gpu.info":
		g.name, g.model, g.vendor, g.parent = text(p, "hw.name"), text(p, "hw.model"), text(p, "hw.vendor"), text(p, "hw.parent")
	case "hw.status":
		if value == 1 {
			g.state = text(p, "hw.state")
		}
	case "hw.gpu.fault":
		g.fault = text(p, "error.type")
	case "hw.gpu.utilization":
		if text(p, "hw.gpu.task") == "general" {
			g.utilization = &value
		}
	case "hw.gpu.memory.usage":
		g.memoryUsed = &value
	case "hw.gpu.memory.limit":
		g.memoryLimit = &value
	case "hw.temperature":
		if location := text(p, "hw.sensor_location"); location == "gpu" || location == "edge" || location == "hotspot" && g.temperature == nil {
			g.temperature = &value
		}
	case "hw.power":
		g.power = &value
	case "hw.power.limit":
		g.powerLimit = &value
	case "hw.gpu.speed":
		if domain := text(p, "hw.gpu.clock_domain"); domain == "sm" || domain == "graphics" && g.clock == nil {
			g.clock = &value
		}
	case "process.gpu.memory.usage":
		g.processes++
	}
}

// sorted are the GPUs by vendor and name, partitions after their parents.
func (v *view) sorted() []*gpu {
	all := slices.Collect(maps.Values(v.gpus))
	key := func(g *gpu) string {
		if parent := v.gpus[g.parent]; parent != nil {
			return parent.vendor + parent.name + "/" + g.name + g.id
		}
		return g.vendor + g.name
	}
	slices.SortFunc(all, func(a, b *gpu) int {
		ka, kb := key(a), key(b)
		switch {
		case ka < kb:
			return -1
		case ka > kb:
			return 1
		}
		return 0
	})
	return all
}

func text(p pmetric.NumberDataPoint, name string) string {
	v, ok := p.Attributes().Get(name)
	if !ok || v.Type() != pcommon.ValueTypeStr {
		return ""
	}
	return v.Str()
}

func number(p pmetric.NumberDataPoint) float64 {
	if p.ValueType() == pmetric.NumberDataPointValueTypeInt {
		return float64(p.IntValue())
	}
	return p.DoubleValue()
}
