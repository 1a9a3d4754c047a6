// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Violations returns the invariants that a message violates, whatever was read: numbers are in their range, each device has its info and
// its states, and containers do not use more of a device than there is.
func Violations(metrics pmetric.Metrics) []string {
	var result violations
	for _, c := range Collisions(metrics) {
		result.add("%s", c)
	}
	resources := map[string]bool{}
	for _, rm := range metrics.ResourceMetrics().All() {
		if endsSeries(rm) {
			continue
		}
		identity := text(rm.Resource().Attributes().AsRaw())
		if resources[identity] {
			result.add("two resources %s", identity)
		}
		resources[identity] = true
	}
	checkMetrics(&result, metrics)
	points := Points(metrics)
	for i := range points {
		checkPoint(&result, &points[i])
	}
	for id, d := range devicesOf(points, &result) {
		d.check(&result, id)
	}
	checkPresence(&result, points)
	checkIndexes(&result, points)
	return result
}

// checkMetrics checks that a scope has each metric once, and that sums are cumulative.
func checkMetrics(result *violations, metrics pmetric.Metrics) {
	for _, rm := range metrics.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			names := map[string]bool{}
			for _, m := range sm.Metrics().All() {
				if names[m.Name()] {
					result.add("%s is in one scope twice", m.Name())
				}
				names[m.Name()] = true
				if m.Type() == pmetric.MetricTypeSum && m.Sum().AggregationTemporality() != pmetric.AggregationTemporalityCumulative {
					result.add("%s is not cumulative", m.Name())
				}
			}
		}
	}
}

func checkPoint(result *violations, p *Point) {
	switch v := p.Value; {
	case math.IsNaN(v) || math.IsInf(v, 0):
		result.add("%s is %v", p.Series(), v)
	case v < 0 && p.Unit != "Cel":
		result.add("%s is negative: %v", p.Series(), v)
	case p.Unit == "1" && v > 1:
		result.add("%s is more than 1: %v", p.Series(), v)
	case p.Unit == "1" && p.Kind != "gauge" && v != 0 && v != 1:
		result.add("%s is neither 0 nor 1: %v", p.Series(), v)
	}
	pid, ok := p.Attributes["process.pid"]
	if ok && pid != p.Resource["process.pid"] {
		result.add("%s has the resource of process %v", p.Series(), p.Resource["process.pid"])
	}
	for _, name := range []string{"k8s.namespace.name", "k8s.pod.name", "k8s.container.name", "container.id"} {
		if v, ok := p.Attributes[name]; ok && p.Resource[name] != v {
			result.add("%s has a resource with %s %v", p.Series(), name, p.Resource[name])
		}
	}
}

// TimeViolations returns the points of a message of one source whose times are invalid.
func TimeViolations(metrics pmetric.Metrics) []string {
	var result violations
	points := Points(metrics)
	for i := range points {
		switch p := &points[i]; {
		case p.Time != points[0].Time:
			result.add("%s differs in time from the other points", p.Series())
		case p.Start > p.Time:
			result.add("%s starts after its time", p.Series())
		case p.Kind != "gauge" && p.Start == 0:
			result.add("%s lacks a start time", p.Series())
		}
	}
	return result
}

// checkPresence checks that every GPU with a state is counted. Those without one were not read.
func checkPresence(result *violations, points []Point) {
	counted, ok := 0.0, false
	for _, p := range Of(points, "hw.gpu.count") {
		counted, ok = counted+p.Value, true
	}
	whole := 0.0
	for _, p := range Of(points, "hw.status") {
		if p.Attributes["hw.parent"] == nil && p.Attributes["hw.state"] == "ok" {
			whole++ // each state has a point
		}
	}
	if ok && counted < whole {
		result.add("%v GPUs are counted, %v are reported", counted, whole)
	}
}

// checkIndexes checks that no two GPUs of a node, and no two partitions of a GPU, have the same index.
func checkIndexes(result *violations, points []Point) {
	first := map[string]any{}
	for _, p := range Of(points, "hw.gpu.info") {
		index, ok := p.Attributes["hw.gpu.index"]
		if !ok {
			continue
		}
		among := map[string]any{"hw.gpu.index": index}
		for _, name := range []string{"k8s.cluster.name", "k8s.node.name", "host.name", "hw.vendor", "hw.parent"} {
			among[name] = p.Attributes[name]
		}
		key := text(among)
		if id, duplicate := first[key]; duplicate {
			result.add("%v and %v have hw.gpu.index %v", id, p.Attributes["hw.id"], index)
		}
		first[key] = p.Attributes["hw.id"]
	}
}
