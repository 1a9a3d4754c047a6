// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package counter

import (
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Residency makes times of the counts by which AMD's firmware tells how long each of its limiters held the clocks down. The firmware
// looks at the limiters at a pace that is not documented, but counts the looks as well: a limiter's share of the time between two
// reads is the rise of its count by the rise of the looks. The counts have 32 bits and wrap. The zero Residency has read nothing.
type Residency struct {
	since time.Time // when counting began
	last  Looks
	at    time.Time // of the last read
	spent []float64 // s, by limiter
}

// Looks is what the firmware has counted.
type Looks struct {
	Clock    gpu.Opt[time.Duration] // the firmware's time when it counted; absent: the time of the read
	Total    uint32
	Limiters []gpu.Opt[uint32] // looks that found the limiter at work; the same number of limiters at each read
}

// Limiter is what two reads tell of a limiter.
type Limiter struct {
	Active gpu.Opt[bool]        // whether it was at work at some time since the last read
	Time   gpu.Counter[float64] // s
}

// Read returns what is known of each limiter. The first read tells nothing, nor does the first one after a reset, which begins the
// counting again.
func (r *Residency) Read(looks Looks, now time.Time) []Limiter {
	limiters := make([]Limiter, len(looks.Limiters))
	last, elapsed := r.last, now.Sub(r.at)
	r.last, r.at = Looks{looks.Clock, looks.Total, slices.Clone(looks.Limiters)}, now
	if clock, ok := looks.Clock.Get(); ok {
		before, _ := last.Clock.Get()
		elapsed = clock - before
	}
	// Unsigned differences are right across a wrap. One of more than half the range is a fall.
	total := looks.Total - last.Total
	if r.since.IsZero() || elapsed < 0 || total > 1<<31 || exceeds(looks.Limiters, last.Limiters, total) {
		r.since, r.spent = now, make([]float64, len(limiters))
		return limiters
	}
	for i, count := range looks.Limiters {
		found, ok := rise(count, last.Limiters[i]).Get()
		if !ok {
			continue
		}
		if total > 0 {
			r.spent[i] += elapsed.Seconds() * float64(found) / float64(total)
		}
		limiters[i] = Limiter{gpu.Some(found > 0), gpu.TotalSince(r.spent[i], r.since)}
	}
	return limiters
}

// exceeds reports whether a limiter was found at work more often than the firmware looked, which means a reset.
func exceeds(now, before []gpu.Opt[uint32], total uint32) bool {
	for i, count := range now {
		if found, ok := rise(count, before[i]).Get(); ok && found > total {
			return true
		}
	}
	return false
}

func rise(now, before gpu.Opt[uint32]) gpu.Opt[uint32] {
	n, ok := now.Get()
	b, had := before.Get()
	if !ok || !had {
		return gpu.Opt[uint32]{}
	}
	return gpu.Some(n - b)
}
