// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"maps"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

const (
	// forgetAfter is how long the start of a series that is not observed is kept. If the device returns later, its counters start
	// again.
	forgetAfter = time.Hour
	// maxDevices bounds the devices whose series are kept although the last read did not have them. No machine has so many. A node
	// that is not trusted can invent devices.
	maxDevices = 1024
)

// counter is a counter metric in a seriesKey.
type counter uint8

const (
	counterEnergy counter = iota
	counterErrors
	counterECCLifetime
	counterECCLocations
	counterECCMemory
	counterFEC
	counterInterconnect
	counterInterconnectErrors
	counterLink
	counterLinkErrors
	counterPCIe
	counterPCIeErrors
	counterPCIeNAKs
	counterPCIeRecoveries
	counterPCIeReplays
	counterPCIeRollovers
	counterPagesRetired
	counterRowsRemapped
	counterThrottleTime
	counterXIDs
)

// seriesKey identifies a series of a counter among the series of a device: the metric and the attributes of the point.
type seriesKey struct {
	counter counter
	kind    uint8  // direction, reason or error type
	number  int64  // XID, bin, memory or end of a link
	name    string // link or block
}

// series is what is known of one series since its last observation.
type series struct {
	start        pcommon.Timestamp
	last         float64
	epoch        uint64
	since        time.Time // when counting started; zero if the source does not know
	lastObserved time.Time
}

// deviceSeries are the series of one device.
type deviceSeries map[seriesKey]*series

// startTimes keeps the start time of each series of a counter. A series starts when its source says. If the source does not know,
// it starts at its first observation, and starts again after its total has fallen, the epoch of the device has changed, or it was
// not observed for forgetAfter.
type startTimes struct {
	devices  map[string]deviceSeries // by hw.id
	now      time.Time               // of the current read
	previous time.Time               // of the read before
	cleaned  time.Time
}

// begin starts a read at the given time.
func (s *startTimes) begin(now time.Time) {
	if s.cleaned.IsZero() {
		s.cleaned = now
	}
	s.previous, s.now = s.now, now
}

// device returns the series of a device.
func (s *startTimes) device(id string) deviceSeries {
	d := s.devices[id]
	if d == nil {
		d = deviceSeries{}
		s.devices[id] = d
	}
	return d
}

// get returns the start time of a series of a device that is observed now. since is when counting started; zero if the source does not know.
func (s *startTimes) get(d deviceSeries, key seriesKey, total float64, epoch uint64, since time.Time) pcommon.Timestamp {
	now := pcommon.NewTimestampFromTime(s.now)
	entry, ok := d[key]
	if !ok {
		entry = &series{}
		d[key] = entry
	}
	switch {
	case !since.IsZero():
		if !ok || !since.Equal(entry.since) {
			entry.start = pcommon.NewTimestampFromTime(since)
		}
	case !ok, !entry.since.IsZero(), total < entry.last, epoch != entry.epoch, s.forgotten(entry):
		entry.start = now
	}
	// After the clock was set back, no point may end before it starts, and the start must not move with each read.
	entry.start = min(entry.start, now)
	entry.last, entry.epoch, entry.since, entry.lastObserved = total, epoch, since, s.now
	return entry.start
}

// forgotten reports whether a series was not observed for too long. A series that the previous read observed is not forgotten,
// however long ago that read was.
func (s *startTimes) forgotten(entry *series) bool {
	return entry.lastObserved.Before(s.previous) && s.now.Sub(entry.lastObserved) > forgetAfter
}

// end ends a read. At most once in forgetAfter it drops the series that were not observed for so long. If there are more than
// maxDevices, it drops all series that this read did not observe.
func (s *startTimes) end() {
	tooMany := len(s.devices) > maxDevices
	if !tooMany && s.now.Sub(s.cleaned) < forgetAfter {
		return
	}
	s.cleaned = s.now
	for id, d := range s.devices {
		maps.DeleteFunc(d, func(_ seriesKey, entry *series) bool {
			return s.now.Sub(entry.lastObserved) > forgetAfter || tooMany && !entry.lastObserved.Equal(s.now)
		})
		if len(d) == 0 {
			delete(s.devices, id)
		}
	}
}
