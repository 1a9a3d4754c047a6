// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const clockNames = "index, uuid, temperature.gpu, clocks.current.sm [MHz], clocks.current.video [MHz], clocks.max.sm [MHz]"

// The zeros of a vGPU guest are not values; the zeros of a cold idle GPU are.
func TestZerosOfAGuest(t *testing.T) {
	guest := oneRow(t, clockNames, "0, GPU-1, 0, 0 MHz, 0 MHz, 0 MHz").Device
	assert.Equal(t, [gpu.NumSensors]gpu.Opt[float64]{}, guest.Temperature)
	assert.Equal(t, [gpu.NumClockDomains]gpu.Clock{}, guest.Clocks)
	cold := oneRow(t, clockNames, "0, GPU-1, 0, 0 MHz, 0 MHz, 1980 MHz").Device
	assert.Equal(t, gpu.Some(0.0), cold.Temperature[gpu.SensorGPU])
	assert.Equal(t, gpu.Clock{Speed: gpu.Some(0.0), Limit: gpu.Some(1980e6)}, cold.Clocks[gpu.ClockSM])
}

func TestSentinels(t *testing.T) {
	for _, printed := range []string{"-1", "255", "0"} {
		d := oneRow(t, "index, uuid, temperature.memory", "0, GPU-1, "+printed).Device
		assert.False(t, d.Temperature[gpu.SensorMemory].Known(), printed)
	}
	for _, printed := range []string{"-1", "255"} {
		d := oneRow(t, "index, uuid, temperature.gpu", "0, GPU-1, "+printed).Device
		assert.False(t, d.Temperature[gpu.SensorGPU].Known(), printed)
	}
	d := oneRow(t, "index, uuid, pcie.link.width.current, pcie.link.width.max", "0, GPU-1, 65535, 65535").Device
	assert.Equal(t, gpu.PCIe{}, d.PCIe)
}

// A GPU with ECC disabled counts nothing: the printed numbers are not counts.
func TestECCDisabled(t *testing.T) {
	const names = "index, uuid, ecc.mode.current, ecc.errors.corrected.volatile.total, ecc.errors.uncorrected.aggregate.total"
	assert.Empty(t, oneRow(t, names, "0, GPU-1, Disabled, 0, 0").Device.Errors)
	assert.Len(t, oneRow(t, names, "0, GPU-1, Enabled, 0, 0").Device.Errors, 2)
	const counts = "<ecc_errors><volatile><sram_correctable>0</sram_correctable></volatile></ecc_errors>"
	assert.Empty(t, oneGPU(t, "<ecc_mode><current_ecc>Disabled</current_ecc></ecc_mode>"+counts).Device.Errors)
	assert.Len(t, oneGPU(t, "<ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode>"+counts).Device.Errors, 1)
}
