// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Point is one data point of a gauge or a sum.
type Point struct {
	Metric     string
	Unit       string
	Attributes map[string]any
	Resource   map[string]any
	Value      float64
	Start      pcommon.Timestamp
	Time       pcommon.Timestamp
	Kind       string // gauge, counter or updowncounter
	Type       string // int or double; empty of a point without a value
}

// Series returns the series of the point in a backend that drops resources: its metric and its own attributes.
func (p *Point) Series() string { return p.Metric + text(p.Attributes) }

// Stream returns the series of the point in a backend that keeps resources.
func (p *Point) Stream() string { return p.Series() + text(p.Resource) }

// text formats attributes as {name=value,…}, sorted by name.
func text(attributes map[string]any) string {
	parts := make([]string, 0, len(attributes))
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		parts = append(parts, fmt.Sprintf("%s=%v", name, attributes[name]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// Points returns the points of all gauges and sums that have a value, in the order of the message. There are no metrics of another kind.
func Points(metrics pmetric.Metrics) []Point { return flagged(metrics, false) }

// Ended returns the points without a value, which end a series.
func Ended(metrics pmetric.Metrics) []Point { return flagged(metrics, true) }

func flagged(metrics pmetric.Metrics, ended bool) []Point {
	var points []Point
	for _, rm := range metrics.ResourceMetrics().All() {
		resource := rm.Resource().Attributes().AsRaw()
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				for _, dp := range numbers(m).All() {
					if dp.Flags().NoRecordedValue() == ended {
						points = append(points, point(m, dp, resource))
					}
				}
			}
		}
	}
	return points
}

func point(m pmetric.Metric, dp pmetric.NumberDataPoint, resource map[string]any) Point {
	p := Point{
		Metric: m.Name(), Unit: m.Unit(), Attributes: dp.Attributes().AsRaw(), Resource: resource,
		Value: dp.DoubleValue(), Start: dp.StartTimestamp(), Time: dp.Timestamp(),
		Kind: "gauge",
	}
	if m.Type() == pmetric.MetricTypeSum {
		p.Kind = "updowncounter"
		if m.Sum().IsMonotonic() {
			p.Kind = "counter"
		}
	}
	switch dp.ValueType() {
	case pmetric.NumberDataPointValueTypeInt:
		p.Type, p.Value = "int", float64(dp.IntValue())
	case pmetric.NumberDataPointValueTypeDouble:
		p.Type = "double"
	default:
	}
	return p
}

func numbers(m pmetric.Metric) pmetric.NumberDataPointSlice {
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		return m.Gauge().DataPoints()
	case pmetric.MetricTypeSum:
		return m.Sum().DataPoints()
	default:
		return pmetric.NewNumberDataPointSlice()
	}
}

// Of returns the points of one metric.
func Of(points []Point, metric string) []Point {
	return slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.Metric != metric })
}

// Names returns the metrics that have points, sorted.
func Names(points []Point) []string {
	names := make([]string, 0, len(points))
	for i := range points {
		names = append(names, points[i].Metric)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// BySeries returns the points by series. Of points that collide it has the last one, like a backend.
func BySeries(points []Point) map[string]Point {
	result := make(map[string]Point, len(points))
	for _, p := range points {
		result[p.Series()] = p
	}
	return result
}

// Collisions returns the series that have more than one point without resources: a backend keeps one of them.
func Collisions(metrics pmetric.Metrics) []string {
	count := map[string]int{}
	for _, p := range Points(metrics) {
		count[p.Series()]++
	}
	var collisions []string
	for series, n := range count {
		if n > 1 {
			collisions = append(collisions, fmt.Sprintf("%d points of %s", n, series))
		}
	}
	slices.SortFunc(collisions, cmp.Compare)
	return collisions
}
