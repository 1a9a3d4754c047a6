// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// StartTime is an option that gives a point a start time of its own: the builder gives every point the same one, although
// counters start at different times. Set it, then record with it; it may be set anew for the next point.
//
// It stands beside the generated code because options cannot be written outside this package.
type StartTime struct{ Timestamp pcommon.Timestamp }

func (s *StartTime) apply(dp pmetric.NumberDataPoint) { dp.SetStartTimestamp(s.Timestamp) }

// StartBy has all points of this builder start at that time, if they would start later: where the clock was set back, a
// builder was made in the future.
func (mb *MetricsBuilder) StartBy(ts pcommon.Timestamp) { mb.startTime = min(mb.startTime, ts) }

// attributesOf is how many attributes the options add. A start time is the first of them or none.
func attributesOf(options []MetricAttributeOption) int {
	if len(options) > 0 {
		if _, start := options[0].(*StartTime); start {
			return len(options) - 1
		}
	}
	return len(options)
}
