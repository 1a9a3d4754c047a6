// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// violations are the limiters of the driver's violation status, since 6.3 on MI300 and later: whether they are at work, and
// how often the firmware found them so.
var violations = [...]struct {
	reason         gpu.ThrottleReason
	active, counts string
}{
	{gpu.ThrottlePowerPPT, "ppt_violation_status", "ppt_accumulated"},
	{gpu.ThrottleThermalGPU, "socket_thermal_violation_status", "socket_thermal_accumulated"},
	{gpu.ThrottleThermalMemory, "hbm_thermal_violation_status", "hbm_thermal_accumulated"},
	{gpu.ThrottleThermalVR, "vr_thermal_violation_status", "vr_thermal_accumulated"},
	{gpu.ThrottleThermalExtern, "prochot_violation_status", "prochot_accumulated"},
}

func amdThrottle(r record, d *gpu.Device) {
	for _, v := range violations {
		d.Throttle[v.reason].Active = active(r[v.active])
	}
}

// residency makes times of the firmware's counts. The firmware looks at its limiters at a pace that is not documented, but
// counts the looks too: of the time between two reads, the share in which a limiter was at work is its count by the looks.
type residency struct {
	began  time.Time // when the first counts were read
	at     time.Time // when the last were
	looks  int64
	counts [len(violations)]gpu.Opt[int64]
	spent  [len(violations)]float64 // s
}

// residencyOf reads the counts.
func residencyOf(r record, at time.Time) (residency, bool) {
	looks, ok := whole(quantity(r["accumulation_counter"], count, "")).Get()
	next := residency{began: at, at: at, looks: looks}
	for i, v := range violations {
		next.counts[i] = whole(quantity(r[v.counts], count, ""))
	}
	return next, ok
}

// since continues with the counts of a later read and sets what both tell of a device. Counts that fell start anew.
func (r residency) since(last residency, d *gpu.Device) residency {
	looks := r.looks - last.looks
	seconds := r.at.Sub(last.at).Seconds()
	if looks < 0 {
		return r
	}
	next := r
	next.began, next.spent = last.began, last.spent
	for i, c := range r.counts {
		now, ok := c.Get()
		before, had := last.counts[i].Get()
		if !ok || !had {
			continue
		}
		at := now - before
		if at < 0 || at > looks {
			return r
		}
		if looks > 0 {
			next.spent[i] += seconds * float64(at) / float64(looks)
		}
	}
	for i, c := range r.counts {
		if c.Known() && last.counts[i].Known() {
			d.Throttle[violations[i].reason].Time = gpu.TotalSince(next.spent[i], next.began)
		}
	}
	return next
}

// active reads "ACTIVE" and "NOT ACTIVE", or lists and objects of them, one for each partition: active if any is.
func active(v any) gpu.Opt[bool] {
	var result gpu.Opt[bool]
	merge := func(inner any) {
		if a, ok := active(inner).Get(); ok && (a || !result.Known()) {
			result = gpu.Some(a)
		}
	}
	switch v := v.(type) {
	case bool:
		return gpu.Some(v)
	case string:
		switch strings.ToUpper(strings.TrimSpace(v)) {
		case "ACTIVE", "TRUE":
			return gpu.Some(true)
		case "NOT ACTIVE", "FALSE":
			return gpu.Some(false)
		}
	case []any:
		for _, inner := range v {
			merge(inner)
		}
	case map[string]any:
		for _, inner := range v {
			merge(inner)
		}
	}
	return result
}
