// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"fmt"
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

// Other drivers may also have them there, or power smoothing. They are accepted if they cannot be settings of power smoothing.
func TestFieldNumbersOf575WithAnotherDriver(t *testing.T) {
	const start580 = "gpus = 2\ndriver.version = 580.65.06\n[fault f]\ngpu = *\nfield = 75, 269, 270, 271\nreturn = NOT_SUPPORTED\n" +
		"[gpu 0]\nboard = b200\nfield.251 = %d\nfield.252 = %d\nfield.253 = %d\n" +
		"[gpu 1]\nboard = b200\nfield.251 = %d\nfield.252 = 50\nfield.253 = 1\n"
	b := start(t, fmt.Sprintf(start580, int64(4e9), int64(5e9), int64(6e9), 80))
	times := func(d *gpu.Device) (all []float64) {
		for _, reason := range []gpu.ThrottleReason{gpu.ThrottleSWThermal, gpu.ThrottleHWThermal, gpu.ThrottleHWPowerBrake} {
			if seconds, ok := d.Throttle[reason].Time.Get(); ok {
				all = append(all, seconds)
			}
		}
		return all
	}
	n := b.read()
	assert.Empty(t, times(gpuAt(t, n, 0)), "they may be settings")
	b.set("[gpu 0]\nfield.251 = 5000000000\nfield.252 = 7000000000\nfield.253 = 9000000000\n[gpu 1]\nfield.251 = 90\n")
	for range 2 {
		n = b.read()
		assert.InDeltaSlice(t, []float64{5, 7, 9}, times(gpuAt(t, n, 0)), 1e-9, "they have grown")
		assert.Empty(t, times(gpuAt(t, n, 1)), "a GPU with power smoothing, one of whose settings was raised")
	}
}
