// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Drivers of branch 575 have the throttle times in other fields; the usual ones are settings of power smoothing there.
func TestFieldNumbersOf575(t *testing.T) {
	const numbers = "[gpu 0]\nboard = b200\nfield.251 = 4000000000\nfield.252 = 5000000000\nfield.253 = 6000000000\n" +
		"field.269 = 1\nfield.270 = 80\nfield.271 = 900\n"
	times := func(d *gpu.Device) (seconds [3]float64) {
		for i, reason := range []gpu.ThrottleReason{gpu.ThrottleSWThermal, gpu.ThrottleHWThermal, gpu.ThrottleHWPowerBrake} {
			seconds[i], _ = d.Throttle[reason].Time.Get()
		}
		return seconds
	}
	b := start(t, "gpus = 1\ndriver.version = 575.57.08\n"+numbers)
	for range 2 {
		assert.InDeltaSlice(t, []float64{4, 5, 6}, slice(times(gpuAt(t, b.read(), 0))), 1e-9)
	}
	b.set("[fault f]\nkind = driver") // it is exchanged for one of another branch
	b.read()
	b.set("driver.version = 580.95.05\n[gpu 0]\nfield.269 = 1000000000\nfield.270 = 2000000000\nfield.271 = 3000000000")
	b.read()
	assert.InDeltaSlice(t, []float64{1, 2, 3}, slice(times(gpuAt(t, b.read(), 0))), 1e-9)
}

func slice(a [3]float64) []float64 { return a[:] }
