// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// throttleReasons are the bits of indep_throttle_status, the throttle status in the form that is the same for every ASIC
// (SMU_THROTTLER_*_BIT in the kernel's amdgpu_smu.h).
var throttleReasons = [...]struct {
	reason gpu.ThrottleReason
	bits   uint64
}{
	{gpu.ThrottlePowerPPT, 0xff},                                    // PPT0 to 3, SPL, FPPT, SPPT, SPPT of the APU
	{gpu.ThrottleCurrent, 0x7f << 16},                               // TDC and EDC
	{gpu.ThrottleThermalGPU, 1<<32 | 1<<33 | 1<<35 | 1<<36 | 1<<37}, // GPU, core, edge, hotspot, SoC
	{gpu.ThrottleThermalMemory, 1 << 34},
	{gpu.ThrottleThermalVR, 0xf<<38 | 1<<44 | 1<<45}, // VR of GFX, SoC and memory, VRHOT
	{gpu.ThrottleThermalExtern, 0x3<<42 | 0x3<<46},   // liquid cooling, PROCHOT
	{gpu.ThrottleFirmwareReason, 1<<23 | 0x3<<56},    // APCC, PPM, FIT
}

// The limiters of which the firmware counts how often it found them at work, in the order of the tables.
const (
	residencyProchot = iota
	residencyPPT
	residencySocketThermal
	residencyVRThermal
	residencyHBMThermal
	numResidencies
)

var residencyFields = [numResidencies]fieldID{
	residencyProchot:       fieldProchot,
	residencyPPT:           fieldPPT,
	residencySocketThermal: fieldSocketThermal,
	residencyVRThermal:     fieldVRThermal,
	residencyHBMThermal:    fieldHBMThermal,
}

var residencyReasons = [numResidencies]gpu.ThrottleReason{
	residencyProchot:       gpu.ThrottleThermalExtern,
	residencyPPT:           gpu.ThrottlePowerPPT,
	residencySocketThermal: gpu.ThrottleThermalGPU,
	residencyVRThermal:     gpu.ThrottleThermalVR,
	residencyHBMThermal:    gpu.ThrottleThermalMemory,
}

// residency makes times of the firmware's counts. The firmware looks at its limiters at a pace that is not documented, but
// counts the looks too: of the time between two reads, the share in which a limiter was at work is its count by the looks.
type residency struct {
	began time.Time // when the first table was read; zero: not yet
	last  metricsCounts
	spent [numResidencies]float64 // s
}

type metricsCounts struct {
	at     uint64 // ns
	looks  uint32
	counts [numResidencies]gpu.Opt[uint32]
}

// read takes the counts of a table and sets what they tell. Before there are two tables they tell nothing.
func (r *residency) read(d *gpu.Device, m *metrics, now time.Time) {
	looks, ok := m.accumulations.Get()
	at, timed := m.clockCounter.Get()
	if !ok || !timed {
		return
	}
	next := metricsCounts{at: at, looks: looks, counts: m.residencies}
	last := r.last
	r.last = next
	// 32-bit counts wrap, and their differences are right all the same. After a reset of the GPU they are not.
	passed := looks - last.looks
	if r.began.IsZero() || at < last.at || passed > 1<<31 || next.exceeds(&last, passed) {
		*r = residency{began: now, last: next}
		return
	}
	seconds := float64(at-last.at) / 1e9
	for i, count := range next.counts {
		n, ok := count.Get()
		before, had := last.counts[i].Get()
		if !ok || !had {
			continue
		}
		active := n - before
		if passed > 0 {
			r.spent[i] += seconds * float64(active) / float64(passed)
		}
		t := &d.Throttle[residencyReasons[i]]
		t.Active = gpu.Some(active > 0)
		t.Time = gpu.TotalSince(r.spent[i], r.began)
	}
}

// exceeds tells whether a limiter was found at work more often than it was looked at.
func (c *metricsCounts) exceeds(last *metricsCounts, passed uint32) bool {
	for i, count := range c.counts {
		n, ok := count.Get()
		if before, had := last.counts[i].Get(); ok && had && n-before > passed {
			return true
		}
	}
	return false
}

// throttleStatus sets what the bits tell of this instant.
func throttleStatus(d *gpu.Device, status gpu.Opt[uint64]) {
	bits, ok := status.Get()
	if !ok {
		return
	}
	for _, r := range throttleReasons {
		d.Throttle[r.reason].Active = gpu.Some(bits&r.bits != 0)
	}
}
