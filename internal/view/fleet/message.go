// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"math"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.uber.org/zap"
)

// message is what one OTLP message changes.
type message struct {
	*state
	now     time.Duration
	clock   pcommon.Timestamp // now
	changed map[*node]change
	offered map[nodeKey]bool // by node: a cluster reports whether the node exists
	full    bool             // a limit is reached, and no node is silent
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
	*metric
	attributes pcommon.Map
	timestamp  pcommon.Timestamp
	value      float64 // ended if the series has ended
	delta      bool
}

// add adds a message. hw.gpu.info makes devices known, so it is processed first, at any place in the message.
func (m *message) add(metrics pmetric.Metrics) {
	resources := make([]resource, metrics.ResourceMetrics().Len())
	for i, rm := range metrics.ResourceMetrics().All() {
		r := &resources[i]
		r.attributes = rm.Resource().Attributes()
		r.node, r.hasNode = nodeOf(r.attributes)
	}
	m.pass(metrics, resources, func(s subject) bool { return s <= ofIdentity })
	m.pass(metrics, resources, func(s subject) bool { return s > ofIdentity })
	for key, offered := range m.offered {
		if n := m.nodes[key]; n != nil {
			n.removed = !offered
		}
	}
}

func (m *message) pass(message pmetric.Metrics, resources []resource, match func(subject) bool) {
	for i, rm := range message.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, one := range sm.Metrics().All() {
				known, ok := metrics[one.Name()]
				points, delta := numbers(one)
				switch {
				case !ok && match(ofNode): // once for both passes
					m.dropped.add(dropForeign, points.Len())
				case ok && match(known.subject):
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

func (m *message) points(r *resource, known *metric, points pmetric.NumberDataPointSlice, delta bool) {
	for _, dataPoint := range points.All() {
		p := point{resource: r, metric: known, attributes: dataPoint.Attributes(), timestamp: dataPoint.Timestamp(), value: ended, delta: delta}
		if !dataPoint.Flags().NoRecordedValue() {
			if p.value = valueOf(dataPoint); !known.values.have(p.value) {
				m.invalid(&p, "the metric cannot have this value", zap.Float64("value", p.value))
				continue
			}
		}
		if p.timestamp == 0 || p.timestamp > math.MaxInt64 {
			m.invalid(&p, "the point lacks a time")
			continue
		}
		switch known.subject {
		case ofNode:
			m.ofNode(&p)
		case ofIdentity:
			m.identity(&p)
		case ofCapacity:
			m.capacity(&p)
		default:
			m.ofDevice(&p)
		}
	}
}

// valueOf returns the value of a point, NaN if the point has no value.
func valueOf(p pmetric.NumberDataPoint) float64 {
	switch p.ValueType() {
	case pmetric.NumberDataPointValueTypeInt:
		return float64(p.IntValue())
	case pmetric.NumberDataPointValueTypeDouble:
		return p.DoubleValue()
	default:
		return math.NaN()
	}
}

// invalid counts a point that says nothing. The log names the node that sent it, as far as that is known.
func (m *message) invalid(p *point, reason string, fields ...zap.Field) {
	key, ok := p.nodeKey()
	if !ok {
		key = nodeKey{}
		if owner := m.owners[text(p.attributes, "hw.id")]; owner != nil {
			key = owner.key
		}
	}
	m.dropped.add(dropInvalid, 1, key.fields(append(fields, zap.String("metric", p.name), zap.String("reason", reason))...)...)
}
