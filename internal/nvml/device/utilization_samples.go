// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// percent returns a sample's value, which NVML documents as an unsigned int; notPercent: it is not a number of percent.
func percent(s *library.Sample, kind uint32) uint64 {
	if kind == library.TypeUnsignedInt {
		return uint64(binary.NativeEndian.Uint32(s.Value[:]))
	}
	if v, ok := library.Decode(kind, s.Value); ok && v.Whole && v.Real >= 0 {
		return v.Unsigned
	}
	return notPercent
}

const notPercent = math.MaxUint64

// mean is the mean of the samples between two reads.
type mean struct {
	sum   uint64
	count uint64
	last  uint64 // time of the newest sample seen, from which the driver continues
}

// add adds the samples that are newer than the newest seen. The driver's list may end in empty entries, and may repeat what was seen.
func (m *mean) add(samples []library.Sample, kind uint32) {
	newest := m.last
	for i := range samples {
		s := &samples[i]
		if s.Time <= m.last {
			continue
		}
		v := percent(s, kind)
		if v > 100 { // not a measurement
			continue
		}
		m.sum += v
		m.count++
		newest = max(newest, s.Time)
	}
	m.last = newest
}

// idle adds samples of 0 that were not fetched, up to a time.
func (m *mean) idle(samples, until uint64) {
	m.count += samples
	m.last = max(m.last, until)
}

// start leaves out, before the first add, samples that are older than the window before the newest sample; without a window, nothing. If
// the newest is itself older than the window, all are left out: the driver may have stopped when the GPU became idle.
func (m *mean) start(samples []library.Sample, now time.Time, window time.Duration) {
	var newest uint64
	for _, s := range samples {
		newest = max(newest, s.Time)
	}
	us := uint64(max(window.Microseconds(), 0))
	switch {
	case us == 0 || us >= newest:
	case newest >= earliestEpoch && newest+us < micros(now):
		m.last = newest
	default:
		m.last = newest - us
	}
}

// take returns the mean of the samples that were added since the last take, as a fraction.
func (m *mean) take() (float64, bool) {
	if m.count == 0 {
		return 0, false
	}
	v := float64(m.sum) / float64(m.count) / 100
	m.sum, m.count = 0, 0
	return v, true
}

// ringSpan is how much time a full ring of samples covers, in microseconds, including one period before the oldest; 0: too few samples.
func ringSpan(samples []library.Sample) uint64 {
	var oldest, newest, n uint64
	for _, s := range samples {
		if s.Time == 0 {
			continue
		}
		if n == 0 || s.Time < oldest {
			oldest = s.Time
		}
		newest = max(newest, s.Time)
		n++
	}
	if n < 2 {
		return 0
	}
	return (newest - oldest) * n / (n - 1)
}
