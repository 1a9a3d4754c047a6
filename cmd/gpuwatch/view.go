// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"maps"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// view holds the latest metrics of each GPU.
type view struct {
	gpus map[string]*gpu
	sent map[string]int // number of points in each vendor's last message
}

// gpu is one device. A value that was not sent is nil.
type gpu struct {
	id, name, model, vendor, parent, state, fault string
	utilization, memoryUsed, memoryLimit          *float64
	temperature, power, powerLimit, clock         *float64
	processes                                     int
}

func newView() *view { return &view{gpus: map[string]*gpu{}, sent: map[string]int{}} }

// update adds one message. A message contains all GPUs of one vendor and none of another. Without a GPU it contains hw.gpu.count.
func (v *view) update(metrics pmetric.Metrics) {
	fresh := map[string]*gpu{}
	vendors := map[string]bool{}
	for _, resource := range metrics.ResourceMetrics().All() {
		for _, scope := range resource.ScopeMetrics().All() {
			for _, metric := range scope.Metrics().All() {
				for _, p := range pointsOf(metric).All() {
					if p.Flags().NoRecordedValue() {
						continue // the series has ended
					}
					if metric.Name() == "hw.gpu.count" {
						vendors[text(p, "hw.vendor")] = true
					}
					v.point(fresh, metric.Name(), p)
				}
			}
		}
	}
	for _, g := range fresh {
		vendors[g.vendor] = true
	}
	for vendor := range vendors {
		v.sent[vendor] = metrics.DataPointCount()
	}
	maps.DeleteFunc(v.gpus, func(_ string, g *gpu) bool { return vendors[g.vendor] })
	maps.Copy(v.gpus, fresh)
}

// points is the number of points in the last message of each vendor.
func (v *view) points() int {
	sum := 0
	for _, points := range v.sent {
		sum += points
	}
	return sum
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
		if value == 1 {
			g.fault = text(p, "error.type")
		}
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
		if text(p, "hw.limit_type") == "enforced" {
			g.powerLimit = &value
		}
	case "hw.gpu.speed":
		if domain := text(p, "hw.gpu.clock_domain"); domain == "sm" || domain == "graphics" && g.clock == nil {
			g.clock = &value
		}
	case "process.gpu.memory.usage":
		g.processes++
	}
}

// sorted returns the GPUs by vendor and name, partitions after their parents.
func (v *view) sorted() []*gpu {
	whole := func(g *gpu) *gpu { return cmp.Or(v.gpus[g.parent], g) }
	return slices.SortedFunc(maps.Values(v.gpus), func(a, b *gpu) int {
		return cmp.Or(cmp.Compare(whole(a).vendor, whole(b).vendor), byNumber(whole(a).name, whole(b).name),
			cmp.Compare(whole(a).id, whole(b).id), cmp.Compare(a.parent, b.parent), byNumber(a.name, b.name), cmp.Compare(a.id, b.id))
	})
}

// byNumber orders nvidia9 before nvidia10.
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

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
