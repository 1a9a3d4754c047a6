// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

const millisecond = pcommon.Timestamp(time.Millisecond)

// ends builds the ended points of one message. Each ResourceMetrics has at most one point of a metric: after a point without a value
// the Prometheus exporter ignores the rest of the metric.
type ends struct {
	message   pmetric.Metrics
	timestamp pcommon.Timestamp

	resource pmetric.ResourceMetrics // the resource of the last message whose series are being ended
	copies   []pmetric.MetricSlice   // the metrics of the copies of that resource
	used     map[string]int          // by metric: the copies that have a point of it
}

func newEnds(timestamp pcommon.Timestamp) *ends {
	return &ends{message: pmetric.NewMetrics(), timestamp: timestamp}
}

// add ends the series of a point of the last message.
func (e *ends) add(p place) {
	if p.resource != e.resource {
		e.resource, e.copies, e.used = p.resource, nil, map[string]int{}
	}
	number := e.used[p.metric.Name()]
	e.used[p.metric.Name()]++
	if number == len(e.copies) {
		e.copies = append(e.copies, e.copyResource(p))
	}
	ended := e.metric(e.copies[number].AppendEmpty(), p.metric).AppendEmpty()
	p.point.Attributes().CopyTo(ended.Attributes())
	ended.SetStartTimestamp(min(p.point.StartTimestamp(), e.timestamp))
	ended.SetTimestamp(e.timestamp)
	ended.SetFlags(pmetric.DefaultDataPointFlags.WithNoRecordedValue(true))
}

// copyResource appends a copy of the point's resource and scope to the message.
func (e *ends) copyResource(p place) pmetric.MetricSlice {
	rm := e.message.ResourceMetrics().AppendEmpty()
	p.resource.Resource().CopyTo(rm.Resource())
	rm.SetSchemaUrl(p.resource.SchemaUrl())
	sm := rm.ScopeMetrics().AppendEmpty()
	p.scope.Scope().CopyTo(sm.Scope())
	sm.SetSchemaUrl(p.scope.SchemaUrl())
	return sm.Metrics()
}

// metric makes target a metric like source, without points, and returns the points.
func (*ends) metric(target, source pmetric.Metric) pmetric.NumberDataPointSlice {
	target.SetName(source.Name())
	target.SetDescription(source.Description())
	target.SetUnit(source.Unit())
	if source.Type() == pmetric.MetricTypeGauge {
		return target.SetEmptyGauge().DataPoints()
	}
	sum := target.SetEmptySum()
	sum.SetIsMonotonic(source.Sum().IsMonotonic())
	sum.SetAggregationTemporality(source.Sum().AggregationTemporality())
	return sum.DataPoints()
}
