// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package harness

import (
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Point is one data point with everything that identifies it.
type Point struct {
	Metric     string
	Unit       string
	Gauge      bool
	Monotonic  bool
	Resource   map[string]string
	Attributes map[string]string
	Time       pcommon.Timestamp
	Value      float64
}

// Is reports whether the point belongs to the metric and has the attributes, given in pairs.
func (p *Point) Is(metric string, attributes ...string) bool {
	if p.Metric != metric {
		return false
	}
	for i := 0; i+1 < len(attributes); i += 2 {
		if p.Attributes[attributes[i]] != attributes[i+1] {
			return false
		}
	}
	return true
}

// Key identifies the point if its resource is dropped.
func (p *Point) Key() string { return p.Metric + text(p.Attributes) }

// Series identifies the point.
func (p *Point) Series() string { return p.Metric + text(p.Attributes) + text(p.Resource) }

func text(labels map[string]string) string {
	var b strings.Builder
	b.WriteByte('{')
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		b.WriteString(name + "=" + labels[name] + ",")
	}
	b.WriteByte('}')
	return b.String()
}

// Points are the data points of one message.
type Points []Point

// Select returns the points of the metric that have the attributes, given in pairs.
func (ps Points) Select(metric string, attributes ...string) Points {
	var result Points
	for i := range ps {
		if ps[i].Is(metric, attributes...) {
			result = append(result, ps[i])
		}
	}
	return result
}

// Value returns the value of the only point of the metric that has the attributes. It returns false if there is none or more than one.
func (ps Points) Value(metric string, attributes ...string) (float64, bool) {
	result := ps.Select(metric, attributes...)
	if len(result) != 1 {
		return 0, false
	}
	return result[0].Value, true
}

// Distinct returns the values of an attribute on the points.
func (ps Points) Distinct(attribute string) []string {
	values := map[string]struct{}{}
	for i := range ps {
		if v, ok := ps[i].Attributes[attribute]; ok {
			values[v] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(values))
}

// Flatten lists the points of a message, without those that end a series.
func Flatten(message pmetric.Metrics) Points {
	points := make(Points, 0, message.DataPointCount())
	for _, resource := range message.ResourceMetrics().All() {
		resourceAttributes := labels(resource.Resource().Attributes())
		for _, scope := range resource.ScopeMetrics().All() {
			for _, m := range scope.Metrics().All() {
				base := Point{Metric: m.Name(), Unit: m.Unit(), Resource: resourceAttributes}
				var dataPoints pmetric.NumberDataPointSlice
				switch m.Type() {
				case pmetric.MetricTypeGauge:
					dataPoints, base.Gauge = m.Gauge().DataPoints(), true
				case pmetric.MetricTypeSum:
					dataPoints, base.Monotonic = m.Sum().DataPoints(), m.Sum().IsMonotonic()
				default:
					continue // the receiver has no others
				}
				for _, p := range dataPoints.All() {
					if p.Flags().NoRecordedValue() {
						continue
					}
					point := base
					point.Attributes, point.Time, point.Value = labels(p.Attributes()), p.Timestamp(), p.DoubleValue()
					if p.ValueType() == pmetric.NumberDataPointValueTypeInt {
						point.Value = float64(p.IntValue())
					}
					points = append(points, point)
				}
			}
		}
	}
	return points
}

func labels(attributes pcommon.Map) map[string]string {
	all := make(map[string]string, attributes.Len())
	for name, value := range attributes.All() {
		all[name] = value.AsString()
	}
	return all
}
