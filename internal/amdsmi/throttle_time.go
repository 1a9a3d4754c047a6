// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/counter"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// limiterCounts is how often the firmware found its limiters at work.
type limiterCounts struct {
	looks counter.Looks
	owner []int // of each count in looks, the place of its limiter in violations: a limiter by XCC has several
}

// countsOf reads the counts.
func countsOf(r record) (limiterCounts, bool) {
	total, ok := looks(r["accumulation_counter"]).Get()
	result := limiterCounts{looks: counter.Looks{Total: total}}
	for i, v := range violations {
		for _, count := range instances(r[v.counts]) {
			result.looks.Limiters = append(result.looks.Limiters, looks(count))
			result.owner = append(result.owner, i)
		}
	}
	return result, ok
}

// instances returns the values of a limiter: one, or those of the XCCs of all partitions.
func instances(v any) []any {
	if _, _, ok := smitext.NumberOf(v); ok {
		return []any{v}
	}
	return byPartition(v)
}

// residency adds up how long each reason held the clocks down.
type residency struct {
	counts counter.Residency
	owner  []int // as at the last read
}

// read sets the times of a device. A limiter by XCC has the time of the XCC on which it was at work longest.
func (r *residency) read(counts *limiterCounts, now time.Time, d *gpu.Device) {
	if !slices.Equal(counts.owner, r.owner) { // the GPU is divided otherwise, or this is the first read
		r.counts, r.owner = counter.Residency{}, counts.owner
	}
	for i, limiter := range r.counts.Read(counts.looks, now) {
		to := &d.Throttle[violations[counts.owner[i]].reason].Time
		spent, ok := limiter.Time.Get()
		if longest, _ := to.Get(); ok && (!to.Known() || spent > longest) {
			*to = limiter.Time
		}
	}
}
