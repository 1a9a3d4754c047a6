// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/counter"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// hostLimitReasons are why the clock of an XCC is low, in the order of hostLimitCounts. A low load is not a limit: it has a time, and is
// not one of the reasons that throttle the GPU now.
var hostLimitReasons = [...]struct {
	reason gpu.ThrottleReason
	limits bool
}{{gpu.ThrottleHostLimitPower, true}, {gpu.ThrottleHostLimitThermal, true}, {gpu.ThrottleLowUtilization, false}}

func hostLimitCounts(x *gpumetrics.XCC) [len(hostLimitReasons)]gpu.Opt[uint64] {
	return [...]gpu.Opt[uint64]{x.BelowPower, x.BelowThermal, x.LowUse}
}

// hostLimits follows how often the clock of each XCC was below the limit of the host, or low because there was little to do.
type hostLimits struct {
	xccs [gpumetrics.MaxXCCs]counter.Residency
}

// read sets the times, each the mean of the XCCs. A time is absent if the time of one XCC is unknown.
func (h *hostLimits) read(d *gpu.Device, table *gpumetrics.Table, now time.Time) {
	total, _ := table.Accumulations.Get()
	clock, _ := table.ClockCounter.Get()
	var sums [len(hostLimitReasons)]mean
	for i := range table.XCCs[:min(len(table.XCCs), len(h.xccs))] {
		counts := hostLimitCounts(&table.XCCs[i])
		looks := counter.Looks{Clock: gpu.Some(time.Duration(clock)), Total: total, Limiters: counts[:]}
		for reason, limiter := range h.xccs[i].Read(looks, now) {
			if counts[reason].Known() {
				sums[reason].add(limiter)
			}
		}
	}
	for i, reason := range hostLimitReasons {
		throttle := &d.Throttle[reason.reason]
		throttle.Time = sums[i].time()
		if reason.limits {
			throttle.Active = sums[i].active
		}
	}
}

// mean is the mean of what is known of one limiter of several XCCs.
type mean struct {
	active  gpu.Opt[bool] // of any
	seconds float64
	since   time.Time // the latest
	known   int
	unknown int
}

func (m *mean) add(l counter.Limiter) {
	if active, ok := l.Active.Get(); ok {
		before, _ := m.active.Get()
		m.active = gpu.Some(before || active)
	}
	seconds, ok := l.Time.Get()
	if !ok {
		m.unknown++
		return
	}
	m.known++
	m.seconds += seconds
	if since := l.Time.Since(); since.After(m.since) {
		m.since = since
	}
}

func (m *mean) time() gpu.Counter[float64] {
	if m.known == 0 || m.unknown > 0 {
		return gpu.Counter[float64]{}
	}
	return gpu.TotalSince(m.seconds/float64(m.known), m.since)
}
