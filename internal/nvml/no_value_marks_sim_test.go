// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// NVML sets every bit of a number if it has no value, in every function.
func TestMarksOfNoValue(t *testing.T) {
	const mark, long = " = raw(0xFFFFFFFF)\n", " = raw(0xFFFFFFFFFFFFFFFF)\n"
	const marked = "util.gpu" + mark + "util.memory" + mark + "util.encoder" + mark + "util.decoder" + mark + "util.jpeg" + mark +
		"util.ofa" + mark + "temperature" + mark + "temperature.memory" + mark + "tlimit.margin = raw(0x7FFFFFFF)\nfan" + mark +
		"clock.graphics" + mark + "clock.sm" + mark + "clock.memory" + mark + "clock.video" + mark +
		"clock.max.graphics" + mark + "clock.max.sm" + mark + "clock.max.memory" + mark + "clock.max.video" + mark +
		"power" + mark + "power.average" + mark + "power.instant" + mark + "power.limit.enforced" + mark + "power.limit.max" + mark +
		"power.limit.min" + mark + "power.limit.default" + mark + "power.memory" + mark + "fan.rpm" + mark + "tlimit.shutdown = raw(0x7FFFFFFF)\n" +
		"pcie.replay_rollover" + mark + "pcie.recoveries" + mark + "pcie.naks.received" + mark + "pcie.naks.sent" + mark +
		"encoder.sessions" + mark + "capture.sessions" + mark + "energy" + long +
		"remapped.corrected" + mark + "remapped.uncorrected" + mark + "retired.sbe" + mark + "retired.dbe" + mark +
		"pcie.generation" + mark + "pcie.generation.max" + mark + "pcie.width" + mark + "pcie.width.max" + mark +
		"pcie.replay" + mark + "pcie.tx = raw(4294967295000)\npcie.rx = raw(4294967295000)\n" + "reasons" + long + "pstate = raw(32)\nrecovery_action" + mark +
		"threshold.shutdown" + mark + "threshold.slowdown" + mark + "threshold.memory_max" + mark + "threshold.gpu_max" + mark
	for name, faults := range map[string]string{
		"fields":    "",
		"functions": "[fault f]\nfunction = nvmlDeviceGetFieldValues\nreturn = NOT_SUPPORTED\n",
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\nboard = h100\nfans = 2\n"+marked+faults, func(c *Config) { c.PCIeSampling = true })
			for range 2 {
				n := b.read()
				assert.Empty(t, n.Problems)
				require.Len(t, n.Devices, 1)
				d := &n.Devices[0]
				assert.Empty(t, d.Utilization)
				assert.Empty(t, d.MemoryController)
				assert.Empty(t, d.Temperature)
				assert.Empty(t, d.TemperatureLimit)
				assert.Empty(t, d.TemperatureMargin)
				assert.Empty(t, d.Fans)
				assert.Empty(t, d.Clocks)
				assert.Empty(t, d.Power)
				assert.Empty(t, d.Energy)
				assert.Empty(t, d.RemappedRows.Corrected)
				assert.Empty(t, d.RemappedRows.Uncorrected)
				assert.Empty(t, d.RetiredPages.Corrected)
				assert.Empty(t, d.RetiredPages.Uncorrected)
				assert.Empty(t, d.PCIe)
				assert.Empty(t, d.PerformanceState)
				assert.Empty(t, d.Encoder)
				assert.Empty(t, d.FrameBuffer)
				assert.Empty(t, d.RecoveryAction)
				for i := range d.Throttle {
					assert.Empty(t, d.Throttle[i].Active)
				}
				assert.True(t, d.Memory.Usage.Known(), "the rest is read")
			}
		})
	}
}

// Boards without a threshold, and links that are down, answer 0.
func TestZeroThatIsNone(t *testing.T) {
	n := start(t, "gpus = 1\n[gpu 0]\npcie.generation = 0\npcie.generation.max = 0\npcie.width = 0\npcie.width.max = 0\n"+
		"threshold.shutdown = 0\nthreshold.slowdown = 0\nthreshold.memory_max = 0\nthreshold.gpu_max = 0\ntemperature = 0\n").read()
	d := gpuAt(t, n, 0)
	assert.Equal(t, gpu.Some(0.0), d.Temperature[gpu.SensorGPU], "it may be cold")
	assert.Empty(t, d.TemperatureLimit)
	assert.Empty(t, [4]gpu.Opt[int64]{d.PCIe.Generation, d.PCIe.GenerationLimit, d.PCIe.Width, d.PCIe.WidthLimit})
}

// Implausible numbers are not sent.
func TestNumbersThatCannotBe(t *testing.T) {
	n := start(t, "gpus = 1\n[gpu 0]\ntemperature = raw(65535)\ntemperature.memory = raw(65535)\nthreshold.gpu_max = raw(65535)\n"+
		"clock.memory = raw(4294967)\npower.average = raw(600000000)\npower.limit.enforced = raw(3000000000)\npower.limit.max = raw(3000000000)\nutil.encoder = raw(255)\n").read()
	d := gpuAt(t, n, 0)
	assert.Empty(t, d.Temperature)
	assert.False(t, d.TemperatureLimit[gpu.SensorGPU][gpu.LimitMax].Known())
	assert.False(t, d.Clocks[gpu.ClockMemory].Speed.Known())
	assert.False(t, d.Power.Draw.Known())
	assert.False(t, d.Power.Limit[gpu.LimitEnforced].Known())
	assert.False(t, d.Power.Limit[gpu.LimitMax].Known())
	assert.False(t, d.Utilization[gpu.TaskEncoder].Known())
	assert.True(t, d.Power.Instant.Known(), "the rest is read")
}

// A virtual GPU's guest gets 0 of what only the host sees.
func TestZerosOfAGuest(t *testing.T) {
	const guest = "gpus = 2\n[gpu *]\nname = GRID P4-1Q\ntemperature = 0\n" +
		"clock.max.graphics = 0\nclock.max.sm = 0\nclock.max.memory = 0\nclock.max.video = 0\n" +
		"[gpu 0]\nclock.graphics = 0\nclock.sm = 0\nclock.memory = 0\nclock.video = 0\n"
	for name, want := range map[string]gpu.Group{"all": gpu.GroupAll, "temperature alone": gpu.GroupTemperature} {
		t.Run(name, func(t *testing.T) {
			b := start(t, guest, want)
			for range 2 {
				n := b.read()
				assert.Empty(t, n.Problems)
				d := gpuAt(t, n, 0)
				assert.False(t, d.Temperature[gpu.SensorGPU].Known())
				assert.Empty(t, d.Clocks)
				d = gpuAt(t, n, 1)
				assert.Equal(t, gpu.Some(0.0), d.Temperature[gpu.SensorGPU], "it may be cold: its clocks run")
				assert.Equal(t, want.Has(gpu.GroupClocks), d.Clocks[gpu.ClockMemory].Speed.Known())
				for i := range d.Clocks {
					assert.False(t, d.Clocks[i].Limit.Known(), "no clock is limited to 0")
				}
			}
		})
	}
}

// Numbers that drivers return instead of a value.
func TestSentinels(t *testing.T) {
	for _, board := range []string{
		"pcie.width = 65535\npcie.width.max = 65535\npcie.generation = 255\npcie.generation.max = 255\ntemperature.memory = 255\n" +
			"temperature = raw(255)\nthreshold.gpu_max = 255\nmemory.total = 0\nmemory.used = 0\nmemory.reserved = 0\n",
		"pcie.width = 0\npcie.width.max = 0\npcie.generation = 0\npcie.generation.max = 0\ntemperature.memory = 0\ntemperature = raw(0xFFFFFFFF)\n" +
			"threshold.gpu_max = 0\nmemory.total = raw(0)\nmemory.used = raw(0)\nmemory.reserved = raw(0)\n",
	} {
		d := gpuAt(t, start(t, "gpus = 1\n[gpu 0]\nboard = h100\n"+board).read(), 0)
		assert.Empty(t, [4]gpu.Opt[int64]{d.PCIe.Generation, d.PCIe.GenerationLimit, d.PCIe.Width, d.PCIe.WidthLimit})
		assert.Empty(t, d.Temperature)
		assert.False(t, d.TemperatureLimit[gpu.SensorGPU][gpu.LimitMax].Known())
		assert.False(t, d.Memory.Limit.Known())
		assert.False(t, d.Memory.Usage.Known())
		assert.True(t, d.Power.Draw.Known(), "the rest is read")
	}
}
