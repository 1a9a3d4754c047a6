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

// The kernel's driver counts the bytes in 32 bits, which a busy link fills many times between two reads. The number of wraps is unknown, so
// there is no value, not even from an idle link.
func TestPCIeBytesOf32Bits(t *testing.T) {
	b := start(t, "gpus = 1\ntime = manual\n[gpu 0]\npcie.tx = 1.5G\npcie.rx.bytes = raw(0xFFFFFFFFFFFFFFFF)")
	for i := range 3 { // 45 GB each
		b.schedule(30*float64(i), "")
		d := gpuAt(t, b.read(), 0)
		assert.Equal(t, gpu.Counter[int64]{}, d.PCIe.Transmitted)
		assert.Equal(t, gpu.Counter[int64]{}, d.PCIe.Received)
	}
}

// A counter that was seen to have more bits counts everything, and so does the other one.
func TestPCIeBytes(t *testing.T) {
	b := start(t, "gpus = 1\ntime = manual\n[gpu 0]\npcie.tx.bytes = counter(4294967200, 10, reset=60)\npcie.rx.bytes = 5")
	assert.False(t, gpuAt(t, b.read(), 0).PCIe.Transmitted.Known())
	for _, step := range []struct {
		seconds float64
		want    int64
	}{{10, 4294967300}, {50, 4294967700}, {70, 100}} {
		b.schedule(step.seconds, "")
		d := gpuAt(t, b.read(), 0)
		total(t, step.want, d.PCIe.Transmitted, "transmitted")
		total[int64](t, 5, d.PCIe.Received, "received")
	}
}

// The call that takes 20 ms is made only if the user has enabled it and there is nothing better, as before Hopper.
func TestPCIeSampling(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	const without = "gpus = 1\ntime = manual\npcie.measure = 0\n[gpu 0]\nboard = a100\npcie.tx = 2M\npcie.rx = 3M\n"
	const noCounters = "pcie.tx.bytes = unsupported\npcie.rx.bytes = unsupported\n"
	sampling := func(c *Config) { c.PCIeSampling = true }
	t.Run("not asked for", func(t *testing.T) {
		b := start(t, without+noCounters)
		counters.Reset()
		d := gpuAt(t, b.read(), 0)
		assert.False(t, d.PCIe.Transmitted.Known() || d.PCIe.Received.Known())
		assert.Zero(t, counters.Calls("nvmlDeviceGetPcieThroughput"))
	})
	t.Run("not needed", func(t *testing.T) {
		b := start(t, without+"pcie.tx.bytes = 912345678901", sampling)
		counters.Reset()
		assert.True(t, gpuAt(t, b.read(), 0).PCIe.Transmitted.Known())
		assert.Zero(t, counters.Calls("nvmlDeviceGetPcieThroughput"))
	})
	t.Run("counters of 32 bits", func(t *testing.T) {
		b := start(t, without, sampling)
		b.read()
		for i, more := range []string{"", "[gpu 0]\npcie.tx.bytes = 912345678901"} {
			b.schedule(10*float64(i+1), more)
			transmitted, _ := gpuAt(t, b.read(), 0).PCIe.Transmitted.Get()
			assert.Equal(t, int64(20e6)*int64(i+1), transmitted, "one series, of one kind")
		}
	})
	t.Run("asked for", func(t *testing.T) {
		b := start(t, without+noCounters, sampling)
		b.read()
		b.schedule(10, "")
		d := gpuAt(t, b.read(), 0)
		transmitted, _ := d.PCIe.Transmitted.Get()
		received, _ := d.PCIe.Received.Get()
		assert.Equal(t, [2]int64{20e6, 30e6}, [2]int64{transmitted, received})
		assert.Equal(t, manualEpoch, d.PCIe.Transmitted.Since(), "counted by ourselves")
	})
	t.Run("lost for an hour", func(t *testing.T) {
		b := start(t, without+noCounters, sampling)
		b.read()
		b.schedule(10, "")
		b.read()
		b.schedule(20, "[fault f]\ngpu = 0\nkind = lost")
		b.read()
		for i, want := range []int64{20e6, 40e6} {
			b.schedule(3620+10*float64(i), "")
			transmitted, _ := gpuAt(t, b.read(), 0).PCIe.Transmitted.Get()
			assert.Equal(t, want, transmitted, "nothing is known of the hour")
		}
	})
}
