// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import "time"

// sample is one measurement that the driver keeps: percent of the time since the one before.
type sample struct {
	time  uint64 // microseconds since 1970, the driver's
	value uint64 // percent
}

// mean adds up samples between two reads.
type mean struct {
	sum   uint64
	count uint64
	last  uint64 // time of the newest sample seen, which the driver is asked to start from
}

// add takes the samples that are newer than the newest seen. The driver's list may end in empty entries, and may repeat
// what was seen. More than all of the time is no measurement.
func (m *mean) add(samples []sample) {
	newest := m.last
	for _, s := range samples {
		if s.time <= m.last || s.value > 100 {
			continue
		}
		m.sum += s.value
		m.count++
		newest = max(newest, s.time)
	}
	m.last = newest
}

// start leaves out, before the first add, what is older than the window before the newest sample; no window: nothing.
func (m *mean) start(samples []sample, window time.Duration) {
	var newest uint64
	for _, s := range samples {
		newest = max(newest, s.time)
	}
	if us := uint64(max(window.Microseconds(), 0)); us > 0 && us < newest { //nolint:gosec // not negative
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
