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

func faultsAt(t *testing.T, n *gpu.Node, index int) (faults []gpu.FaultType) {
	t.Helper()
	for _, f := range gpuAt(t, n, index).Faults {
		faults = append(faults, f.Type)
	}
	return faults
}

// A GPU whose infoROM is corrupted is degraded, and all its values are sent.
func TestCorruptInfoROM(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	counters.Reset()
	b := start(t, "gpus = 2\n[fault f]\ngpu = 1\nfunction = nvmlDeviceValidateInforom\nreturn = CORRUPTED_INFOROM")
	for range 3 {
		n := b.read()
		healthy(t, n, 2, 1)
		assert.Equal(t, []gpu.FaultType{gpu.FaultInfoROM}, faultsAt(t, n, 1))
		assert.Equal(t, gpu.StateDegraded, gpuAt(t, n, 1).State())
		assert.True(t, gpuAt(t, n, 1).Power.Draw.Known())
		assert.Empty(t, n.Problems, "a fault is no problem")
	}
	assert.EqualValues(t, 2, counters.Calls("nvmlDeviceValidateInforom"), "not at each read: it reads the flash memory")

	b.set("[fault f]\ngpu = 0\nfunction = nvmlDeviceValidateInforom\nreturn = CORRUPTED_INFOROM")
	b.clock = b.clock.Add(time.Hour)
	n := b.read()
	assert.Equal(t, []gpu.FaultType{gpu.FaultInfoROM}, faultsAt(t, n, 0))
	assert.Empty(t, faultsAt(t, n, 1), "it was repaired")
}

// Other calls, too, may return that the infoROM is corrupted. What they read is a problem then.
func TestCallsReturnCorruptInfoROM(t *testing.T) {
	b := start(t, "gpus = 2\n[fault f]\ngpu = 1\nfunction = nvmlDeviceGetSramEccErrorStatus, nvmlDeviceGetRemappedRows, nvmlDeviceGetSerial\nreturn = CORRUPTED_INFOROM")
	for range 3 {
		n := b.read()
		healthy(t, n, 2, 1)
		assert.Equal(t, []gpu.FaultType{gpu.FaultInfoROM}, faultsAt(t, n, 1))
		assert.NotEmpty(t, n.Problems)
	}
}

// Also if no other call of those that were made has a value.
func TestEveryCallReturnsCorruptInfoROM(t *testing.T) {
	b := start(t, "gpus = 1\n[fault f]\nfunction = nvmlDeviceGetTemperature, nvmlDeviceGetFieldValues\nreturn = CORRUPTED_INFOROM", gpu.GroupTemperature)
	for range 3 {
		assert.Equal(t, []gpu.FaultType{gpu.FaultInfoROM}, faultsAt(t, b.read(), 0), "the driver answers")
	}
}

// A driver without the function, a board without an infoROM and a collector that may not validate it are healthy.
func TestInfoROMNotValidated(t *testing.T) {
	for _, code := range []string{"FUNCTION_NOT_FOUND", "NOT_SUPPORTED", "NO_PERMISSION"} {
		b := start(t, "gpus = 1\n[fault f]\nfunction = nvmlDeviceValidateInforom\nreturn = "+code)
		for range 2 {
			n := b.read()
			healthy(t, n, 1)
			assert.Empty(t, n.Problems, code)
		}
	}
}
