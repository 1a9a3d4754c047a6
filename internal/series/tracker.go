// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Tracker remembers the series of the last message of one source. It is not safe for concurrent use.
type Tracker struct {
	series map[key]struct{}
	last   packed
}

// End adds an ended point to the message for each series that the message before had and this one lacks. The ended points come before the
// live ones and are a millisecond older than the read: an exporter that distinguishes series by fewer attributes than we do drops the ended
// series first, and then accepts the live one.
//
// A message without points ends all series.
func (t *Tracker) End(message pmetric.Metrics, read pcommon.Timestamp) pmetric.Metrics {
	present := make(map[key]struct{}, len(t.series))
	forEach(message, func(k key, _ place) { present[k] = struct{}{} })
	ended := t.endedBy(present, read)
	t.series, t.last = present, pack(message)
	if ended.ResourceMetrics().Len() == 0 {
		return message
	}
	message.ResourceMetrics().MoveAndAppendTo(ended.ResourceMetrics())
	return ended
}

// endedBy returns an ended point for each series of the last message that is not present.
func (t *Tracker) endedBy(present map[key]struct{}, read pcommon.Timestamp) pmetric.Metrics {
	ends := newEnds(read - min(read, millisecond))
	if t.lacks(present) {
		forEach(t.last.unpack(), func(k key, p place) {
			if _, ok := present[k]; !ok {
				ends.add(p)
			}
		})
	}
	return ends.message
}

// lacks reports whether a series of the last message is not present.
func (t *Tracker) lacks(present map[key]struct{}) bool {
	for k := range t.series {
		if _, ok := present[k]; !ok {
			return true
		}
	}
	return false
}
