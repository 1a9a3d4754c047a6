// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"encoding/binary"
	"math"
	"time"
)

// sample is one measurement that the driver keeps, as it hands it out (nvmlSample_t): percent of the time since the one before.
type sample struct {
	time  uint64  // microseconds since 1970, the driver's
	value [8]byte // of the type that comes with the list
}

// percent reads a sample's value, which NVML says is an unsigned int. noPercent: it is none.
func (s *sample) percent(kind uint32) uint64 {
	if kind == typeUnsignedInt {
		return uint64(binary.NativeEndian.Uint32(s.value[:]))
	}
	if v, ok := decode(kind, s.value); ok && v.whole && v.real >= 0 {
		return v.unsigned
	}
	return noPercent
}

const noPercent = math.MaxUint64

// mean adds up samples between two reads.
type mean struct {
	sum   uint64
	count uint64
	last  uint64 // time of the newest sample seen, which the driver is asked to start from
}

// add takes the samples that are newer than the newest seen. The driver's list may end in empty entries, and may repeat
// what was seen.
func (m *mean) add(samples []sample, kind uint32) {
	newest := m.last
	for i := range samples {
		s := &samples[i]
		if s.time <= m.last {
			continue
		}
		v := s.percent(kind)
		if v > 100 { // more than all of the time is no measurement
			continue
		}
		m.sum += v
		m.count++
		newest = max(newest, s.time)
	}
	m.last = newest
}

// start leaves out, before the first add, what is older than the window before the newest sample; no window: nothing. Where that
// one is older than the window itself, all are left out: the driver may have stopped as the GPU fell idle.
func (m *mean) start(samples []sample, now time.Time, window time.Duration) {
	var newest uint64
	for _, s := range samples {
		newest = max(newest, s.time)
	}
	us := uint64(max(window.Microseconds(), 0))
	switch {
	case us == 0 || us >= newest:
	case newest >= firstEpoch && newest+us < micros(now):
		m.last = newest
	default:
		m.last = newest - us
	}
}

// take returns the mean of what was added since the last take, as a fraction.
func (m *mean) take() (float64, bool) {
	if m.count == 0 {
		return 0, false
	}
	v := float64(m.sum) / float64(m.count) / 100
	m.sum, m.count = 0, 0
	return v, true
}

// span is how much time a full ring covers, in microseconds: what its samples say, one period before the oldest included.
// 0: too few samples to tell.
func span(samples []sample) uint64 {
	var oldest, newest, n uint64
	for _, s := range samples {
		if s.time == 0 {
			continue
		}
		if n == 0 || s.time < oldest {
			oldest = s.time
		}
		newest = max(newest, s.time)
		n++
	}
	if n < 2 {
		return 0
	}
	return (newest - oldest) * n / (n - 1)
}
