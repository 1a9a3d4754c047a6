// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// forgetAfter is how long the start of a series is kept that is not seen any more. A device that comes back later starts
// its counters anew.
const forgetAfter = time.Hour

// counter names a counter metric in a series key.
type counter uint8

const (
	counterEnergy counter = iota
	counterErrors
	counterECCLifetime
	counterInterconnect
	counterLink
	counterLinkErrors
	counterPCIe
	counterPagesRetired
	counterRowsRemapped
	counterThrottleTime
)

// seriesKey identifies one series of a counter: the metric, the device, and what else tells its points apart.
type seriesKey struct {
	metric counter
	device string
	kind   uint8  // direction, reason or error type
	number int64  // XID
	name   string // link or block
}

type series struct {
	start pcommon.Timestamp
	last  float64
	epoch uint64
	seen  time.Time
}

// startTimes knows when each series of a counter started: at its first observation, and anew when its total has fallen,
// the device's epoch has changed, or it was not seen for long.
type startTimes struct {
	known    map[seriesKey]*series
	now      time.Time
	previous time.Time // of the read before
	swept    time.Time
}

func (s *startTimes) begin(now time.Time) {
	if s.known == nil {
		s.known = make(map[seriesKey]*series)
		s.swept = now
	}
	s.previous, s.now = s.now, now
}

// of returns the start of a series that is observed now. since is when counting began, where the source knows it.
func (s *startTimes) of(key seriesKey, total float64, epoch uint64, since time.Time) pcommon.Timestamp {
	now := pcommon.NewTimestampFromTime(s.now)
	// Where the clock was set back, no point may end before it starts.
	if !since.IsZero() {
		return min(pcommon.NewTimestampFromTime(since), now)
	}
	known, ok := s.known[key]
	switch {
	case !ok:
		known = &series{start: now}
		s.known[key] = known
	case total < known.last || epoch != known.epoch || s.forgotten(known) || now < known.start:
		known.start = now
	}
	known.last, known.epoch, known.seen = total, epoch, s.now
	return known.start
}

// forgotten tells whether a series had been away for too long. One that the last read had too was not away, however long
// ago that was.
func (s *startTimes) forgotten(known *series) bool {
	return known.seen.Before(s.previous) && s.now.Sub(known.seen) > forgetAfter
}

// end forgets series that have not been seen for long; it looks at most once per forgetAfter.
func (s *startTimes) end(now time.Time) {
	if now.Sub(s.swept) < forgetAfter {
		return
	}
	s.swept = now
	for key, known := range s.known {
		if now.Sub(known.seen) > forgetAfter {
			delete(s.known, key)
		}
	}
}

// recordTotal records a counter where it was read: it puts the start of the series on the device's start option, and calls
// record with the total.
func recordTotal[N gpu.Number](p *point, key seriesKey, c gpu.Counter[N], record func(total N)) {
	total, ok := c.Get()
	if !ok {
		return
	}
	key.device = p.device.ID
	p.id.start.Timestamp = p.starts.of(key, float64(total), p.device.Epoch, c.Since())
	record(total)
}
