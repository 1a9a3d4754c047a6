// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"math"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// largest is the largest value that a point may have. Nothing that GPUs have is near it, and sums stay numbers.
const largest = 1e30

// message is what one OTLP message changes.
type message struct {
	*state
	now     time.Duration
	changed map[*node]change
}

// resource is a resource of a message.
type resource struct {
	attributes pcommon.Map
	node       nodeKey
	hasNode    bool
}

// point is a point of a known metric.
type point struct {
	*resource
	metric
	attributes pcommon.Map
	at         pcommon.Timestamp
	value      float64 // ended where the series has ended
	delta      bool
}

// add adds a message. hw.gpu.info makes devices known, so it comes first, wherever it stands.
func (m *message) add(metrics pmetric.Metrics) {
	resources := make([]resource, metrics.ResourceMetrics().Len())
	for i, rm := range metrics.ResourceMetrics().All() {
		r := &resources[i]
		r.attributes = rm.Resource().Attributes()
		r.node, r.hasNode = nodeOf(r.attributes)
	}
	m.pass(metrics, resources, func(of subject) bool { return of <= ofIdentity })
	m.pass(metrics, resources, func(of subject) bool { return of > ofIdentity })
}

func (m *message) pass(message pmetric.Metrics, resources []resource, wanted func(subject) bool) {
	for i, rm := range message.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, one := range sm.Metrics().All() {
				known, ok := metrics[one.Name()]
				points, delta := numbers(one)
				switch {
				case !ok && wanted(ofNode): // once for both passes
					m.dropped.add(dropForeign, points.Len())
				case ok && wanted(known.of):
					m.points(&resources[i], known, points, delta)
				}
			}
		}
	}
}

// numbers returns the points of a metric, none of a histogram, and whether they are deltas.
func numbers(m pmetric.Metric) (pmetric.NumberDataPointSlice, bool) {
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		return m.Gauge().DataPoints(), false
	case pmetric.MetricTypeSum:
		return m.Sum().DataPoints(), m.Sum().AggregationTemporality() == pmetric.AggregationTemporalityDelta
	default:
		return pmetric.NewNumberDataPointSlice(), false
	}
}

func (m *message) points(r *resource, known metric, points pmetric.NumberDataPointSlice, delta bool) {
	for _, from := range points.All() {
		p := point{resource: r, metric: known, attributes: from.Attributes(), at: from.Timestamp(), delta: delta}
		var ok bool
		if p.value, ok = valueOf(from); !ok || p.at == 0 || p.at > math.MaxInt64 {
			m.dropped.add(dropInvalid, 1)
			continue
		}
		switch known.of {
		case ofNode:
			m.ofNode(&p)
		case ofIdentity:
			m.identity(&p)
		default:
			m.ofDevice(&p)
		}
	}
}

// valueOf returns the value of a point. It reports false for a point without a number that means something.
func valueOf(p pmetric.NumberDataPoint) (float64, bool) {
	if p.Flags().NoRecordedValue() {
		return ended, true
	}
	switch p.ValueType() {
	case pmetric.NumberDataPointValueTypeInt:
		return float64(p.IntValue()), true
	case pmetric.NumberDataPointValueTypeDouble:
		return p.DoubleValue(), math.Abs(p.DoubleValue()) <= largest // false for NaN
	default:
		return 0, false
	}
}
