// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const clocked = "gpus = 1\ntime = manual\n[gpu 0]\nsample.period = 0.2\nutil.gpu = steps(0:60, 300:30, 900:60)\nutil.memory = 20\n" +
	"[process p]\ngpu = 0\npid = 51003\nmemory = 2Gi\nsm = 55\n"

// The machine's clock was ahead and is set back: what was measured before does not make a process look idle, and the next read but one is
// complete.
func TestClockSetBack(t *testing.T) {
	for name, want := range map[string]gpu.Group{
		"with the GPU's own samples": gpu.GroupAll,
		"processes alone":            gpu.GroupProcesses | gpu.GroupProcessUtilization,
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, clocked, WithInterval(10*time.Second), want)
			read := func(seconds float64) (process, whole gpu.Opt[float64]) {
				b.schedule(seconds, "")
				n := b.read()
				require.Len(t, n.Processes, 1)
				assert.Equal(t, gpu.Some[int64](2<<30), n.Processes[0].Memory)
				return n.Processes[0].Utilization[gpu.TaskGeneral], gpuAt(t, n, 0).Utilization[gpu.TaskGeneral]
			}
			read(1000)
			process, _ := read(1010)
			approx(t, 0.55, process, "before")

			process, whole := read(390)
			assert.False(t, process.Known(), "what there is does not belong to one window")
			if want.Has(gpu.GroupUtilization) {
				approx(t, 0.3, whole, "the driver's samples of the last seconds")
			}
			for _, seconds := range []float64{400, 410} {
				process, _ = read(seconds)
				approx(t, 0.55, process, "after")
			}
		})
	}
}

// The mean of the driver's samples is back immediately, instead of the instantaneous value.
func TestSamplesAfterClockSetBack(t *testing.T) {
	b := start(t, "gpus = 1\ntime = manual\n[gpu 0]\nsample.period = 0.2\nutil.gpu = square(0, 100, 10, 0.3)\nutil.encoder = square(0, 100, 10, 0.3)",
		WithInterval(10*time.Second))
	for _, seconds := range []float64{1000, 1010, 500, 510} {
		b.schedule(seconds, "")
		d := gpuAt(t, b.read(), 0)
		assert.InDelta(t, 0.3, value2(t, d.Utilization[gpu.TaskGeneral]), 0.03, "at %v", seconds)
		assert.InDelta(t, 0.3, value2(t, d.Utilization[gpu.TaskEncoder]), 0.03, "at %v", seconds)
	}
}

// The fetching of samples between two reads notices it as well, and the next read does not take a part of the window for the whole.
func TestClockSetBackBetweenReads(t *testing.T) {
	b := start(t, clocked, WithInterval(30*time.Second))
	b.schedule(1000, "")
	b.read()
	b.schedule(390, "")
	b.fetchSamples()
	b.schedule(400, "")
	n := b.read()
	assert.False(t, n.Processes[0].Utilization[gpu.TaskGeneral].Known())
	b.schedule(430, "")
	approx(t, 0.55, b.read().Processes[0].Utilization[gpu.TaskGeneral], "after")
}

// Samples that the driver still has from before the clock was set back do not count, and processes have no utilization while it has them.
func TestSamplesFromBeforeTheClockWasSetBack(t *testing.T) {
	b := start(t, clocked, WithInterval(10*time.Second))
	b.schedule(1000, "")
	b.read()
	b.clock = manualEpoch.Add(400 * time.Second) // the driver's samples are ahead of it
	for range 2 {
		b.clock = b.clock.Add(10 * time.Second)
		n := b.read()
		assert.False(t, n.Processes[0].Utilization[gpu.TaskGeneral].Known())
		approx(t, 0.6, gpuAt(t, n, 0).Utilization[gpu.TaskGeneral], "the value of now")
	}
	b.schedule(430, "")
	n := b.read()
	approx(t, 0.55, n.Processes[0].Utilization[gpu.TaskGeneral], "when they are gone")
	approx(t, 0.3, gpuAt(t, n, 0).Utilization[gpu.TaskGeneral], "when they are gone")
}

// A driver that was loaded again may have any time: samples are taken as at the first read.
func TestClockOfANewDriver(t *testing.T) {
	for name, away := range map[string]string{
		"the whole driver": "[fault f]\nkind = driver",
		"one GPU":          "[fault f]\ngpu = 0\nkind = lost",
		"not counted":      "[gpu 0]\npresent = false",
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, clocked, WithInterval(10*time.Second))
			b.schedule(1000, "")
			b.read()
			b.schedule(1010, "")
			b.read()
			b.schedule(1020, away)
			assert.Empty(t, b.read().Processes)
			b.set("now = 390") // and the machine's clock stays
			b.clock = b.clock.Add(time.Hour)
			b.read()
			b.clock = b.clock.Add(10 * time.Second)
			b.set("now = 400")
			n := b.read()
			require.Len(t, n.Processes, 1)
			approx(t, 0.55, n.Processes[0].Utilization[gpu.TaskGeneral], "of the process")
			approx(t, 0.3, gpuAt(t, n, 0).Utilization[gpu.TaskGeneral], "of the GPU")
		})
	}
}
