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
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// A burst that begins and ends between two reads counts: an instantaneous value would miss it.
func TestBurstBetweenReads(t *testing.T) {
	const burst = "gpus = 1\ntime = manual\n[gpu 0]\nsample.period = 0.2\nutil.gpu = steps(0:0, 12:100, 15:0)\n" +
		"util.memory = steps(0:0, 12:50, 15:0)"
	b := start(t, burst, WithInterval(10*time.Second))
	b.schedule(10, "")
	approx0(t, gpuAt(t, b.read(), 0).Utilization[gpu.TaskGeneral])
	b.schedule(20, "")
	d := gpuAt(t, b.read(), 0)
	approx(t, 0.3, d.Utilization[gpu.TaskGeneral], "3 s of 10 s")
	approx(t, 0.15, d.MemoryController, "half of the controller's time for 3 s of 10 s")
	approx0(t, d.Utilization[gpu.TaskDecoder])
	b.schedule(30, "")
	approx0(t, gpuAt(t, b.read(), 0).Utilization[gpu.TaskGeneral])
}

// approx0 demands a value that was read and is 0.
func approx0(t *testing.T, got gpu.Opt[float64]) {
	t.Helper()
	assert.Equal(t, gpu.Some(0.0), got)
}

// If the driver keeps no samples, or has taken none since, the instantaneous value is read.
func TestInstantaneousUtilization(t *testing.T) {
	t.Run("no samples", func(t *testing.T) {
		b := start(t, "gpus = 1\n[gpu 0]\nutil.gpu = 42\nutil.memory = 17\nutil.decoder = 33\n"+
			"[fault f]\ngpu = 0\nfunction = nvmlDeviceGetSamples\nreturn = NOT_SUPPORTED")
		d := gpuAt(t, b.read(), 0)
		approx(t, 0.42, d.Utilization[gpu.TaskGeneral], "utilization")
		approx(t, 0.17, d.MemoryController, "memory controller")
		approx(t, 0.33, d.Utilization[gpu.TaskDecoder], "decoder")
		assert.Equal(t, time.Duration(0), samplePeriod(0, time.Minute))
	})
	t.Run("none since", func(t *testing.T) {
		b := start(t, "gpus = 1\ntime = manual\nnow = 10\n[gpu 0]\nutil.gpu = 42")
		b.read()
		approx(t, 0.42, gpuAt(t, b.read(), 0).Utilization[gpu.TaskGeneral], "utilization")
	})
}

// A problem of the instantaneous value ends when there are samples: it is not read then.
func TestInstantaneousUtilizationNotNeeded(t *testing.T) {
	b := start(t, "gpus = 1\ntime = manual")
	b.schedule(10, "")
	b.read()
	b.set("now = 10\n[fault f]\nfunction = nvmlDeviceGetUtilizationRates,nvmlDeviceGetEncoderUtilization\nreturn = UNKNOWN")
	n := b.read()
	problem(t, n, "utilization")
	problem(t, n, "encoder utilization")
	b.schedule(20, "")
	for range 3 {
		assert.Empty(t, b.read().Problems)
		b.schedule(30, "")
	}
}

// The driver's ring is shorter than the interval: samples are fetched in between, and none is lost.
func TestSamplesAreFetchedInBetween(t *testing.T) {
	const scenario = "gpus = 2\ntime = manual\n[gpu *]\nsample.period = 0.2\nsample.count = 50\nutil.gpu = steps(0:0, 11:100, 17:0)\n" +
		"[process p]\ngpu = 0\npid = 7\nsm = steps(0:0, 11:100, 17:0)"
	read := func(t *testing.T, between ...float64) *gpu.Node {
		t.Helper()
		b := start(t, scenario, WithInterval(30*time.Second))
		b.schedule(10, "")
		b.read()
		require.NotNil(t, b.timer.timer, "samples of 10 s, read every 30 s")
		for _, seconds := range between {
			b.schedule(seconds, "")
			b.fetchSamples()
		}
		b.schedule(40, "")
		return b.read()
	}
	t.Run("without", func(t *testing.T) {
		approx0(t, gpuAt(t, read(t), 0).Utilization[gpu.TaskGeneral])
	})
	t.Run("with", func(t *testing.T) {
		n := read(t, 16, 22, 28, 34)
		approx(t, 0.2, gpuAt(t, n, 0).Utilization[gpu.TaskGeneral], "6 s of 30 s")
		approx(t, 0.2, gpuAt(t, n, 1).Utilization[gpu.TaskGeneral], "6 s of 30 s")
		require.Len(t, n.Processes, 1)
		u := value2(t, n.Processes[0].Utilization[gpu.TaskGeneral])
		assert.InDelta(t, 0.2, u, 0.05, "of the process, one sample each time")
	})
	t.Run("with MIG on", func(t *testing.T) {
		counters, err := nvmlsim.OpenCounters(simulator(t).Full)
		require.NoError(t, err)
		b := start(t, scenario+"\n[gpu 0]\nmig = 1", WithInterval(30*time.Second))
		b.schedule(10, "")
		b.read()
		b.schedule(20, "[fault f]\ngpu = 0\nfunction = nvmlDeviceGetProcessUtilization\nreturn = UNKNOWN")
		counters.Reset()
		b.fetchSamples()
		b.schedule(40, "")
		assert.Empty(t, b.read().Problems, "what is not read does not fail")
		assert.Zero(t, counters.TotalErrors())
	})
	t.Run("by the clock", func(t *testing.T) {
		b := start(t, "gpus = 1\n[gpu 0]\nsample.period = 0.01\nsample.count = 10", WithInterval(time.Hour))
		counters, err := nvmlsim.OpenCounters(simulator(t).Full)
		require.NoError(t, err)
		b.read()
		counters.Reset()
		require.Eventually(t, func() bool { return counters.Calls("nvmlDeviceGetSamples") >= 12 }, time.Minute, time.Millisecond)
	})
	t.Run("not while NVML is let go of", func(t *testing.T) {
		b := start(t, scenario, WithInterval(30*time.Second), func(c *Config) { c.KeepOpen = false })
		b.read()
		assert.Nil(t, b.timer.timer)
		b.fetchSamples()
	})
	t.Run("a GPU that hangs", func(t *testing.T) {
		b := start(t, scenario, WithInterval(30*time.Second))
		b.schedule(10, "")
		b.read()
		b.schedule(16, "[fault f]\ngpu = 0\nfunction = nvmlDeviceGetSamples\nhang = true")
		b.fetchUntilHung(1)
		b.schedule(22, "[fault f]\ngpu = 0\nfunction = nvmlDeviceGetSamples\nhang = true")
		b.fetchSamples()
		n := b.read()
		failed(t, n, 0, gpu.FaultHung)
		approx(t, 0.5, gpuAt(t, n, 1).Utilization[gpu.TaskGeneral], "6 s of 12 s")
		b.unhang("now = 23")
		healthy(t, b.read(), 2)
	})
}

func TestProcesses(t *testing.T) {
	b := start(t, `
gpus = 2
time = manual
now = 10
[process compute]
gpu = 0
pid = 1
memory = 4Gi
sm = 40
enc = 5
dec = 6
mem = 99
[process graphics]
gpu = 0
pid = 2
type = graphics
memory = 1Gi
[process both]
gpu = 0
pid = 3
memory = 2Gi
sm = 10
[process both-too]
gpu = 0
pid = 3
type = graphics
memory = 2Gi
sampled = false
[process mps]
gpu = 0
pid = 4
type = mps
memory = raw(0xFFFFFFFFFFFFFFFF)
[process twice]
gpu = *
pid = 5
memory = 1Mi
[process dead]
gpu = 0
pid = 6
listed = false
sm = 90
`)
	b.read()
	b.schedule(20, "")
	n := b.read()
	assert.Empty(t, n.Problems)
	id := []string{gpuAt(t, n, 0).ID, gpuAt(t, n, 1).ID}
	util := func(general, encoder, decoder float64) (u [gpu.NumTasks]gpu.Opt[float64]) {
		u[gpu.TaskGeneral], u[gpu.TaskEncoder], u[gpu.TaskDecoder] = gpu.Some(general), gpu.Some(encoder), gpu.Some(decoder)
		return u
	}
	idle := gpu.Some(0.0)
	noMedia := [gpu.NumTasks]gpu.Opt[float64]{gpu.TaskGeneral: idle} // no process of the GPU uses these engines
	assert.ElementsMatch(t, []gpu.Process{
		{PID: 1, DeviceID: id[0], Type: gpu.ProcessCompute, Memory: gpu.Some[int64](4 << 30), Utilization: util(0.4, 0.05, 0.06), MemoryController: gpu.Some(0.99)},
		{PID: 2, DeviceID: id[0], Type: gpu.ProcessGraphics, Memory: gpu.Some[int64](1 << 30), Utilization: util(0, 0, 0), MemoryController: idle},
		{PID: 3, DeviceID: id[0], Type: gpu.ProcessComputeGraphics, Memory: gpu.Some[int64](2 << 30), Utilization: util(0.1, 0, 0), MemoryController: idle},
		{PID: 4, DeviceID: id[0], Type: gpu.ProcessMPS, Utilization: util(0, 0, 0), MemoryController: idle},
		{PID: 5, DeviceID: id[0], Type: gpu.ProcessCompute, Memory: gpu.Some[int64](1 << 20), Utilization: util(0, 0, 0), MemoryController: idle},
		{PID: 5, DeviceID: id[1], Type: gpu.ProcessCompute, Memory: gpu.Some[int64](1 << 20), Utilization: noMedia, MemoryController: idle},
	}, n.Processes)

	n = b.read() // immediately
	for _, p := range n.Processes {
		assert.False(t, p.MemoryController.Known())
		assert.False(t, p.Utilization[gpu.TaskGeneral].Known(), "the driver has taken no samples since")
	}
}

// Samples from before the last read do not count again, and several samples count as their mean.
func TestProcessSamples(t *testing.T) {
	b := start(t, "gpus = 1\ntime = manual\n[gpu 0]\nsample.period = 1\nprocess.samples = 100\n"+
		"[process p]\ngpu = 0\npid = 7\nsm = steps(0:80, 10.5:20, 15.5:0)\n[process q]\ngpu = 0\npid = 8\nsm = 1")
	b.schedule(10, "")
	b.read()
	b.schedule(20, "")
	n := b.read()
	require.Len(t, n.Processes, 2)
	approx(t, 0.1, n.Processes[0].Utilization[gpu.TaskGeneral], "20 % for half of the time")
	approx(t, 0.01, n.Processes[1].Utilization[gpu.TaskGeneral], "1 % all the time")
	b.schedule(30, "")
	n = b.read()
	approx0(t, n.Processes[0].Utilization[gpu.TaskGeneral])
}
