// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"
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

// seriesKey identifies one series of a device's counter: the metric, and what else tells its points apart.
type seriesKey struct {
	metric counter
	kind   uint8  // direction, reason or error type
	number int64  // XID
	name   string // link or block
}

type series struct {
	key   seriesKey
	start pcommon.Timestamp
	last  float64
	epoch uint64
	since time.Time // when counting began, where the source knows it
	seen  time.Time
}

// startTimes knows when each series of a counter started: when its source says; else at its first observation, and anew when its
// total has fallen, the device's epoch has changed, or it was not seen for long.
type startTimes struct {
	devices  map[string]*deviceSeries // by hw.id
	now      time.Time
	previous time.Time // of the read before
	swept    time.Time
}

// deviceSeries are the series of one device, in the order in which they were first observed. They are observed in the same
// order at each read, so the next one is mostly the one that is looked for.
type deviceSeries struct {
	all  []series
	next int
}

func (d *deviceSeries) find(key seriesKey) (*series, bool) {
	if d.next >= len(d.all) || d.all[d.next].key != key {
		d.next = slices.IndexFunc(d.all, func(s series) bool { return s.key == key })
	}
	if d.next < 0 {
		d.next = len(d.all) + 1
		d.all = append(d.all, series{key: key})
		return &d.all[len(d.all)-1], false
	}
	d.next++
	return &d.all[d.next-1], true
}

func (s *startTimes) begin(now time.Time) {
	if s.devices == nil {
		s.devices = make(map[string]*deviceSeries)
		s.swept = now
	}
	s.previous, s.now = s.now, now
}

// device returns the series of a device that is about to be recorded.
func (s *startTimes) device(id string) *deviceSeries {
	d := s.devices[id]
	if d == nil {
		d = &deviceSeries{}
		s.devices[id] = d
	}
	d.next = 0
	return d
}

// of returns the start of a series that is observed now. since is when counting began, where the source knows it.
func (s *startTimes) of(d *deviceSeries, key seriesKey, total float64, epoch uint64, since time.Time) pcommon.Timestamp {
	now := pcommon.NewTimestampFromTime(s.now)
	known, ok := d.find(key)
	switch {
	case !since.IsZero():
		if !ok || !since.Equal(known.since) {
			known.start = pcommon.NewTimestampFromTime(since)
		}
	case !ok, !known.since.IsZero(), total < known.last, epoch != known.epoch, s.forgotten(known):
		known.start = now
	}
	// Where the clock was set back, no point may end before it starts; nor may the start move with each read.
	known.start = min(known.start, now)
	known.last, known.epoch, known.since, known.seen = total, epoch, since, s.now
	return known.start
}

// forgotten tells whether a series had been away for too long. One that the last read had too was not away, however long
// ago that was.
func (s *startTimes) forgotten(known *series) bool {
	return known.seen.Before(s.previous) && s.now.Sub(known.seen) > forgetAfter
}

// mostDevices is of how many devices series are kept that were not seen at the last read. No machine has so many.
const mostDevices = 1024

// end forgets series that have not been seen for long; it looks at most once per forgetAfter. Where there are more devices than a
// machine has, invented ones, it forgets all that are not seen now.
func (s *startTimes) end(now time.Time) {
	crowded := len(s.devices) > mostDevices
	if !crowded && now.Sub(s.swept) < forgetAfter {
		return
	}
	s.swept = now
	for id, d := range s.devices {
		d.all = slices.DeleteFunc(d.all, func(known series) bool {
			return now.Sub(known.seen) > forgetAfter || crowded && !known.seen.Equal(now)
		})
		if len(d.all) == 0 {
			delete(s.devices, id)
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
	p.id.start.Timestamp = p.starts.of(p.series, key, float64(total), p.device.Epoch, c.Since())
	record(total)
}
