// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/counter"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// counts are how often the firmware found each of the violations at work.
type counts [len(violations)]gpu.Opt[uint64]

// limiterCounts are the counts of the whole GPU and of its XCCs.
type limiterCounts struct {
	looks uint64 // of the firmware at its limiters
	gpu   counts
	xccs  []counts
}

// countsOf reads the counts.
func countsOf(r record) (c limiterCounts, ok bool) {
	c.looks, ok = looks(r["accumulation_counter"]).Get()
	for i, v := range violations {
		if _, _, single := smitext.NumberOf(r[v.counts]); single {
			c.gpu[i] = looks(r[v.counts])
			continue
		}
		for n, count := range byPartition(r[v.counts]) {
			if n == len(c.xccs) {
				c.xccs = append(c.xccs, counts{})
			}
			c.xccs[n][i] = looks(count)
		}
	}
	return c, ok
}

// residency adds up how long each reason held the clocks down. XCCs count separately: if one starts again, this says nothing about the
// others.
type residency struct {
	gpu  counter.Residency
	xccs []counter.Residency
}

// read sets the times of a device. A reason that is counted by XCC has the mean of their times, and is absent if the time of one is
// unknown.
func (r *residency) read(c *limiterCounts, now time.Time, d *gpu.Device) {
	for len(r.xccs) < len(c.xccs) {
		r.xccs = append(r.xccs, counter.Residency{})
	}
	var means [len(violations)]mean
	for n := range c.xccs {
		for i, limiter := range r.xccs[n].Read(counter.Looks{Total: c.looks, Limiters: c.xccs[n][:]}, now) {
			if c.xccs[n][i].Known() {
				means[i].add(limiter.Time)
			}
		}
	}
	for i, limiter := range r.gpu.Read(counter.Looks{Total: c.looks, Limiters: c.gpu[:]}, now) {
		d.Throttle[violations[i].reason].Time = limiter.Time
		if !c.gpu[i].Known() {
			d.Throttle[violations[i].reason].Time = means[i].time()
		}
	}
}

// mean is the mean of times.
type mean struct {
	seconds        float64
	known, unknown int
	since          time.Time // the latest
}

func (m *mean) add(t gpu.Counter[float64]) {
	seconds, ok := t.Get()
	if !ok {
		m.unknown++
		return
	}
	m.known++
	m.seconds += seconds
	if t.Since().After(m.since) {
		m.since = t.Since()
	}
}

func (m *mean) time() gpu.Counter[float64] {
	if m.known == 0 || m.unknown > 0 {
		return gpu.Counter[float64]{}
	}
	return gpu.TotalSince(m.seconds/float64(m.known), m.since)
}
