// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const fullPWM = 255 // the duty cycle of a fan at its highest speed

// readFan reads how fast the fan runs.
func readFan(r *reader, want gpu.Group, s sensors, d *gpu.Device) {
	fan := gpu.Fan{Location: "fan0"}
	if want.Has(gpu.GroupFans) {
		fan.Ratio = readFanRatio(r, s)
	}
	if want.Has(gpu.GroupFanSpeed) {
		if rpm, ok := r.number("fan", s.file("fan1_input")).Get(); ok {
			fan.Speed = plausible.Revolutions(rpm)
		}
	}
	if fan.Ratio.Known() || fan.Speed.Known() {
		d.Fans = append(d.Fans, fan)
	}
}

// readFanRatio reads the duty cycle, of 255 unless pwm1_max says otherwise, else the speed by the highest speed.
func readFanRatio(r *reader, s sensors) gpu.Opt[float64] {
	ratio := readRatio(r, s.file("pwm1"), s.file("pwm1_max"), gpu.Some[int64](fullPWM))
	if !ratio.Known() {
		ratio = readRatio(r, s.file("fan1_input"), s.file("fan1_max"), gpu.Opt[int64]{})
	}
	return ratio
}

// readRatio reads a number by its maximum. otherwise replaces a maximum that the driver does not give.
func readRatio(r *reader, current, maximum string, otherwise gpu.Opt[int64]) gpu.Opt[float64] {
	v, ok := r.number("fan", current).Get()
	if !ok {
		return gpu.Opt[float64]{}
	}
	limit := r.number("fan", maximum)
	if upper, ok := limit.Get(); !ok || upper <= 0 {
		limit = otherwise
	}
	upper, ok := limit.Get()
	if !ok {
		return gpu.Opt[float64]{}
	}
	return plausible.Fraction(float64(v) / float64(upper))
}
