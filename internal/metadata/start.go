// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// WithPointStartTime sets the start time of one point. The builder gives all points the same start time, but each counter
// starts at a time of its own. The option is in this package because mdatagen does not export the method of options.
func WithPointStartTime(start pcommon.Timestamp) MetricAttributeOption { return pointStartTime(start) }

type pointStartTime pcommon.Timestamp

func (s pointStartTime) apply(dp pmetric.NumberDataPoint) { dp.SetStartTimestamp(pcommon.Timestamp(s)) }

// StartBy makes the points of this builder start at ts or earlier. A builder starts at the time when it was made, which is in the
// future after the clock was set back.
func (mb *MetricsBuilder) StartBy(ts pcommon.Timestamp) { mb.startTime = min(mb.startTime, ts) }
