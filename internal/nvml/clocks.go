// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

var clocks = [gpu.NumClockDomains]struct {
	now, most function
	kind      gonvml.ClockType
}{
	gpu.ClockGraphics: {fnClockGraphics, fnMaxClockGraphics, gonvml.CLOCK_GRAPHICS},
	gpu.ClockSM:       {fnClockSM, fnMaxClockSM, gonvml.CLOCK_SM},
	gpu.ClockMemory:   {fnClockMemory, fnMaxClockMemory, gonvml.CLOCK_MEM},
	gpu.ClockVideo:    {fnClockVideo, fnMaxClockVideo, gonvml.CLOCK_VIDEO},
}

func (b *board) readClocks(d *gpu.Device) {
	for i := range clocks {
		d.Clocks[i].Speed = hertz(b.number(clocks[i].now))
	}
}

func (b *board) readClockLimits(d *gpu.Device) {
	for i := range clocks {
		c := &clocks[i]
		limit := &b.static.maxClocks[i]
		if !limit.Known() && b.can(c.most) {
			if mhz, ret := b.handle.GetMaxClockInfo(c.kind); b.ok(c.most, code(ret)) {
				*limit = hertz(unsigned(mhz))
			}
		}
		d.Clocks[i].Limit = *limit
	}
}

// readThrottle reads why the clocks are held down, of the reasons that the device can report.
func (b *board) readThrottle(d *gpu.Device) {
	now, supported := fnReasons, fnReasonsSupported
	askSupported := gonvml.Device.GetSupportedClocksEventReasons
	if !b.has[fnReasons] { // before driver 535
		now, supported = fnOldReasons, fnOldReasonsSupported
		askSupported = gonvml.Device.GetSupportedClocksThrottleReasons
	}
	if !b.static.reasons.Known() && b.can(supported) {
		if mask, ret := askSupported(b.handle); b.ok(supported, code(ret)) {
			b.static.reasons = gpu.Some(mask)
		}
	}
	if mask, ok := b.long(now); ok {
		throttled(&d.Throttle, mask.unsigned, b.static.reasons)
	}
}

func (b *board) readThrottleTime(d *gpu.Device) {
	for _, t := range throttleTimes {
		v, ok := b.fields.get(t.field)
		d.Throttle[t.reason].Time = amount(v, ok, perNano)
	}
}

// readPerformanceState reads the P-state's number, of which 0 is the fastest.
func (b *board) readPerformanceState(d *gpu.Device) {
	if answer, ok := b.ask(fnPerformanceState); ok {
		p := answer.number()
		d.PerformanceState = known(int64(p), p <= uint32(gonvml.PSTATE_15))
	}
}
