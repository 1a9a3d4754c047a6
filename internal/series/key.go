// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatautil"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// key is a hash of the metric's name and of the attributes of the resource and of the point.
type key uint64

// place is the place of a point in a message.
type place struct {
	resource pmetric.ResourceMetrics
	scope    pmetric.ScopeMetrics
	metric   pmetric.Metric
	point    pmetric.NumberDataPoint
}

// forEach calls do for each point of a message.
func forEach(message pmetric.Metrics, do func(key, place)) {
	for _, rm := range message.ResourceMetrics().All() {
		hash := pdatautil.MapHash(rm.Resource().Attributes())
		resource := pdatautil.WithString(string(hash[:]))
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				name := pdatautil.WithString(m.Name())
				for _, dp := range points(m).All() {
					k := key(pdatautil.Hash64(resource, name, pdatautil.WithMap(dp.Attributes())))
					do(k, place{resource: rm, scope: sm, metric: m, point: dp})
				}
			}
		}
	}
}

// points returns the points of a metric. The receiver sends gauges and sums only.
func points(m pmetric.Metric) pmetric.NumberDataPointSlice {
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		return m.Gauge().DataPoints()
	case pmetric.MetricTypeSum:
		return m.Sum().DataPoints()
	}
	return pmetric.NewNumberDataPointSlice()
}
