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

const sramErrors = "gpus = 1\n[gpu 0]\necc.volatile.corrected = 13\necc.volatile.corrected.dram = 11\necc.volatile.corrected.sram = 2\n" +
	"ecc.volatile.uncorrected = 12\necc.volatile.uncorrected.dram = 5\necc.volatile.uncorrected.sram = 7\n" +
	"sram.volatile.parity = 3\nsram.volatile.secded = 4\nsram.threshold_exceeded = 1\n"

func memoryErrors(sramCorrected, sramUncorrected, dramCorrected, dramUncorrected int64) (m [gpu.NumMemoryTypes][gpu.NumErrorTypes]gpu.Counter[int64]) {
	m[gpu.MemorySRAM][gpu.ErrorCorrected] = gpu.Total(sramCorrected)
	m[gpu.MemorySRAM][gpu.ErrorUncorrected] = gpu.Total(sramUncorrected)
	m[gpu.MemoryDRAM][gpu.ErrorCorrected] = gpu.Total(dramCorrected)
	m[gpu.MemoryDRAM][gpu.ErrorUncorrected] = gpu.Total(dramUncorrected)
	return m
}

// Errors of SRAM and of DRAM are separate, in every function that reports them, and their sum is the number of all errors.
func TestECCMemory(t *testing.T) {
	for name, tt := range map[string]struct {
		fault     string
		threshold gpu.Opt[bool]
	}{
		"status": {"", gpu.Some(true)},
		"no status of SRAM": {
			"[fault f]\nfunction = nvmlDeviceGetSramEccErrorStatus\nreturn = NOT_SUPPORTED", gpu.Opt[bool]{},
		},
		"without root": {
			"[fault f]\nfunction = nvmlDeviceGetSramEccErrorStatus\nreturn = NO_PERMISSION", gpu.Opt[bool]{},
		},
		"no fields": {"[fault f]\nfield = 11, 12\nreturn = NOT_SUPPORTED", gpu.Some(true)},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, sramErrors+tt.fault)
			for range 2 {
				n := b.read()
				d := gpuAt(t, n, 0)
				assert.Equal(t, memoryErrors(2, 7, 11, 5), d.ECC.Memory)
				assert.Equal(t, tt.threshold, d.ECC.SRAMThresholdExceeded)
				assert.Equal(t, map[gpu.ErrorType]int64{gpu.ErrorCorrected: 13, gpu.ErrorUncorrected: 12}, errorCounts(t, d.Errors, false))
				assert.Empty(t, n.Problems)
				d.AddFaultsOfReadings()
				exceeded, _ := tt.threshold.Get()
				assert.Equal(t, exceeded, d.State() == gpu.StatePredictedFailure)
			}
		})
	}
	t.Run("status fails", func(t *testing.T) {
		n := start(t, sramErrors+"[fault f]\nfunction = nvmlDeviceGetSramEccErrorStatus\nreturn = UNKNOWN").read()
		require.ErrorContains(t, problem(t, n, "SRAM errors").Err, "unknown error")
		assert.False(t, gpuAt(t, n, 0).ECC.Memory[gpu.MemorySRAM][gpu.ErrorCorrected].Known(), "the function may answer the next read")
	})
	t.Run("ECC off", func(t *testing.T) {
		assert.Equal(t, gpu.ECC{}, gpuAt(t, start(t, sramErrors+"ecc = 0").read(), 0).ECC)
	})
	t.Run("no ECC", func(t *testing.T) {
		n := start(t, "gpus = 1\n[gpu 0]\nboard = geforce").read()
		assert.Empty(t, n.Problems)
		assert.Equal(t, gpu.ECC{}, gpuAt(t, n, 0).ECC)
	})
	t.Run("no value", func(t *testing.T) {
		e := gpuAt(t, start(t, sramErrors+"sram.volatile.parity = raw(0xFFFFFFFFFFFFFFFF)\nsram.threshold_exceeded = raw(0xFFFFFFFF)").read(), 0).ECC
		assert.False(t, e.Memory[gpu.MemorySRAM][gpu.ErrorUncorrected].Known(), "a part of the sum is missing")
		assert.False(t, e.SRAMThresholdExceeded.Known())
	})
}

// A board before Ampere counts errors by cache, a later one the uncorrected errors of SRAM by unit.
func TestECCLocations(t *testing.T) {
	const drams = "ecc.aggregate.corrected.dram = 1\necc.aggregate.uncorrected.dram = 2\n"
	errors := func(location gpu.ErrorLocation, kind gpu.ErrorType, n int64) gpu.LocationErrors {
		return gpu.LocationErrors{Location: location, Type: kind, Count: gpu.Total(n)}
	}
	var idle []gpu.LocationErrors
	for _, location := range []gpu.ErrorLocation{gpu.LocationL2, gpu.LocationSM, gpu.LocationMicrocontroller, gpu.LocationPCIe, gpu.LocationOther} {
		idle = append(idle, errors(location, gpu.ErrorUncorrected, 0))
	}
	for name, tt := range map[string]struct {
		scenario string
		want     []gpu.LocationErrors
	}{
		"h100": {"board = h100\n" + drams + "sram.bucket.l2 = 3\nsram.bucket.sm = 4\nsram.bucket.pcie = 5\nsram.bucket.mcu = 6\nsram.bucket.other = 7\n", []gpu.LocationErrors{
			errors(gpu.LocationDRAM, gpu.ErrorCorrected, 1), errors(gpu.LocationDRAM, gpu.ErrorUncorrected, 2),
			errors(gpu.LocationL2, gpu.ErrorUncorrected, 3), errors(gpu.LocationSM, gpu.ErrorUncorrected, 4),
			errors(gpu.LocationMicrocontroller, gpu.ErrorUncorrected, 6), errors(gpu.LocationPCIe, gpu.ErrorUncorrected, 5),
			errors(gpu.LocationOther, gpu.ErrorUncorrected, 7),
		}},
		"no fields": {
			"board = h100\n" + drams + "[fault f]\nfield = 22, 23\nreturn = NOT_SUPPORTED", append(
				[]gpu.LocationErrors{errors(gpu.LocationDRAM, gpu.ErrorCorrected, 1), errors(gpu.LocationDRAM, gpu.ErrorUncorrected, 2)}, idle...),
		},
		"volta": {"board = turing\n" + drams + "ecc.aggregate.corrected.l1 = 3\necc.aggregate.uncorrected.l1 = 4\necc.aggregate.corrected.l2 = 5\n" +
			"ecc.aggregate.uncorrected.l2 = 6\necc.aggregate.corrected.register = 7\necc.aggregate.uncorrected.register = 8\nfield.26 = 9\nfield.28 = 10\n", []gpu.LocationErrors{
			errors(gpu.LocationDRAM, gpu.ErrorCorrected, 1), errors(gpu.LocationDRAM, gpu.ErrorUncorrected, 2),
			errors(gpu.LocationL1, gpu.ErrorCorrected, 3), errors(gpu.LocationL1, gpu.ErrorUncorrected, 4),
			errors(gpu.LocationL2, gpu.ErrorCorrected, 5), errors(gpu.LocationL2, gpu.ErrorUncorrected, 6),
			errors(gpu.LocationRegisterFile, gpu.ErrorCorrected, 7), errors(gpu.LocationRegisterFile, gpu.ErrorUncorrected, 8),
			errors(gpu.LocationTexture, gpu.ErrorCorrected, 9), errors(gpu.LocationCBU, gpu.ErrorUncorrected, 10),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\n"+tt.scenario)
			for range 2 {
				n := b.read()
				assert.Empty(t, n.Problems)
				assert.Equal(t, tt.want, gpuAt(t, n, 0).ECC.Locations)
			}
		})
	}
}

// The driver counts the uncorrected errors of SRAM of a MIG instance.
func TestECCMemoryOfAnInstance(t *testing.T) {
	n := start(t, "gpus = 1\n[gpu 0]\nmig = 1\n[mig 0 0]\nprofile = 3g.40gb\ngi = 1\nci = 0\necc.volatile.uncorrected.sram = 4").read()
	var want gpu.ECC
	want.Memory[gpu.MemorySRAM][gpu.ErrorUncorrected] = gpu.Total[int64](4)
	assert.Equal(t, want, n.Devices[1].ECC)
}
