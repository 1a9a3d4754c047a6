// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package counter

import (
	"math"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Residency converts the counts by which AMD's firmware reports how long each of its limiters held the clocks down into times. The firmware
// checks the limiters at an undocumented pace, but also counts the checks: a limiter's share of the time between two reads is the increase
// of its count divided by the increase of the checks. The counts have 32 bits and wrap, or 64 bits (SMU 15.0.8). The zero Residency has no
// reading.
type Residency struct {
	since    time.Time // when counting started
	last     Looks
	lastRead time.Time
	spent    []float64 // s, by limiter
}

// Looks is what the firmware has counted.
type Looks struct {
	Clock    gpu.Opt[time.Duration] // the firmware's time when it counted; absent: the time of the read
	Total    uint64
	Limiters []gpu.Opt[uint64] // looks that found the limiter at work; the same number of limiters at each read
}

// Limiter is what two reads show of a limiter.
type Limiter struct {
	Active gpu.Opt[bool]        // whether it was at work at some time since the last read
	Time   gpu.Counter[float64] // s
}

// Read returns what is known of each limiter. The first read has no time. Nor does the first read after a reset, which restarts the
// counting.
func (r *Residency) Read(looks Looks, now time.Time) []Limiter {
	limiters := make([]Limiter, len(looks.Limiters))
	last, elapsed := r.last, now.Sub(r.lastRead)
	r.last, r.lastRead = Looks{looks.Clock, looks.Total, slices.Clone(looks.Limiters)}, now
	if clock, ok := looks.Clock.Get(); ok {
		before, _ := last.Clock.Get()
		elapsed = clock - before
	}
	total, grown := rise(looks.Total, last.Total)
	if r.since.IsZero() || elapsed < 0 || !grown || !within(looks.Limiters, last.Limiters, total) {
		r.since, r.spent = now, make([]float64, len(limiters))
		return limiters
	}
	for i, count := range looks.Limiters {
		n, ok := count.Get()
		before, known := last.Limiters[i].Get()
		if !ok || !known {
			continue
		}
		found, _ := rise(n, before)
		found = min(found, total)
		if total > 0 {
			r.spent[i] += elapsed.Seconds() * float64(found) / float64(total)
		}
		limiters[i] = Limiter{gpu.Some(found > 0), gpu.TotalSince(r.spent[i], r.since)}
	}
	return limiters
}

// within reports whether no limiter was found at work more often than the firmware looked, but for once: the driver rounds some counts.
// Otherwise counting has started again.
func within(now, before []gpu.Opt[uint64], total uint64) bool {
	for i, count := range now {
		n, ok := count.Get()
		b, known := before[i].Get()
		if !ok || !known {
			continue
		}
		if found, grown := rise(n, b); !grown || found > total+1 {
			return false
		}
	}
	return true
}

// rise returns by how much a count has risen; false if it has fallen because counting has started again. A count that was never above 32
// bits wraps: a fall by more than half of that range is a wrap.
func rise(now, before uint64) (n uint64, grown bool) {
	if now < before && before <= math.MaxUint32 {
		n = uint64(uint32(now) - uint32(before)) // modulo 2^32
		return n, n <= 1<<31
	}
	return now - before, now >= before
}
