// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// On Hopper and later, GPM has the mean of the whole time between two reads. The call measures 20 ms of it.
func TestPCIeTrafficOfGPM(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	const board = "gpus = 1\ntime = manual\npcie.measure = 0\n[gpu 0]\nboard = h100\n"
	const bursts = board + "pcie.tx = steps(0:2M, 11:400M, 12:2M)\npcie.rx = 3M\n"
	sampling := func(c *Config) { c.PCIeSampling = true }
	totals := func(d *gpu.Device) [2]int64 {
		t.Helper()
		transmitted, ok := d.PCIe.Transmitted.Get()
		require.True(t, ok)
		received, ok := d.PCIe.Received.Get()
		require.True(t, ok)
		return [2]int64{transmitted, received}
	}
	for name, want := range map[string]gpu.Group{"alone": gpu.GroupPCIeIO, "beside the pipes": gpu.GroupPCIeIO | gpu.GroupPipes} {
		t.Run(name, func(t *testing.T) {
			b := start(t, bursts, sampling, want)
			counters.Reset()
			assert.False(t, gpuAt(t, b.read(), 0).PCIe.Transmitted.Known(), "it takes two reads")
			b.schedule(10, "")
			assert.Equal(t, [2]int64{20e6, 30e6}, totals(gpuAt(t, b.read(), 0)))
			b.schedule(10.05, "")
			assert.False(t, gpuAt(t, b.read(), 0).PCIe.Transmitted.Known(), "too close to the last one")
			b.schedule(20, "")
			d := gpuAt(t, b.read(), 0)
			assert.Equal(t, [2]int64{20e6 + 400e6 + 18e6, 60e6}, totals(d), "what was between the reads, too")
			assert.Equal(t, manualEpoch, d.PCIe.Transmitted.Since(), "counted by ourselves")
			assert.Zero(t, counters.Calls("nvmlDeviceGetPcieThroughput"))
		})
	}
	t.Run("not asked for", func(t *testing.T) {
		b := start(t, bursts)
		b.read()
		b.schedule(10, "")
		assert.False(t, gpuAt(t, b.read(), 0).PCIe.Transmitted.Known())
	})
	t.Run("counters of more bits that show later", func(t *testing.T) {
		b := start(t, bursts, sampling, gpu.GroupPCIeIO|gpu.GroupPipes)
		b.read()
		for i, more := range []string{"", "[gpu 0]\npcie.tx.bytes = 912345678901", ""} {
			b.schedule(20+10*float64(i), more)
			transmitted := totals(gpuAt(t, b.read(), 0))[0]
			assert.Equal(t, int64(400e6+38e6)+int64(20e6)*int64(i), transmitted, "one series, of one kind")
		}
	})
	t.Run("without two reads of one session", func(t *testing.T) {
		b := start(t, bursts, sampling, func(c *Config) { c.KeepOpen = false })
		b.read()
		b.schedule(10, "")
		b.read()
		b.schedule(20, "")
		assert.Equal(t, [2]int64{40e6, 60e6}, totals(gpuAt(t, b.read(), 0)), "measured, which misses the burst")
	})
	t.Run("GPM has no value", func(t *testing.T) {
		b := start(t, board+"pcie.tx = unsupported\npcie.rx = unsupported\n", sampling)
		for i := range 3 {
			b.schedule(10*float64(i), "")
			assert.False(t, gpuAt(t, b.read(), 0).PCIe.Transmitted.Known())
		}
	})
	t.Run("GPM is refused", func(t *testing.T) {
		b := start(t, bursts+"[fault f]\ngpu = 0\nfunction = nvmlGpmSampleGet\nreturn = NO_PERMISSION", sampling)
		b.read()
		b.schedule(10, "")
		b.read()
		b.schedule(20, "")
		assert.Equal(t, [2]int64{40e6, 60e6}, totals(gpuAt(t, b.read(), 0)), "measured")
	})
	t.Run("lost for an hour", func(t *testing.T) {
		b := start(t, bursts, sampling)
		b.read()
		b.schedule(10, "")
		b.read()
		b.schedule(20, "[fault f]\ngpu = 0\nkind = lost")
		b.read()
		b.schedule(3620, "")
		assert.False(t, gpuAt(t, b.read(), 0).PCIe.Transmitted.Known())
		b.schedule(3630, "")
		d := gpuAt(t, b.read(), 0)
		assert.Equal(t, [2]int64{40e6, 60e6}, totals(d), "nothing is known of the hour")
		assert.Equal(t, manualEpoch, d.PCIe.Transmitted.Since())
	})
}
