// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestRemappedRows(t *testing.T) {
	listing, ok := QueryGPU([]byte("uuid, temperature.gpu\nGPU-a, 40\nGPU-b, 41\nGPU-c, [GPU is lost]\n[Unknown Error], 42\n"), nil)
	require.True(t, ok)
	requests := []string{"gpu_uuid", "remapped_rows.correctable", "remapped_rows.uncorrectable", "remapped_rows.pending", "remapped_rows.failure"}
	// As nvidia-smi 535 prints it, and with the words of later versions.
	require.True(t, RemappedRows([]byte("gpu_uuid, remapped_rows.correctable, remapped_rows.uncorrectable, remapped_rows.pending, remapped_rows.failure\n"+
		"GPU-b, 4, 5, Yes, No\nGPU-a, 0, [Unknown Error], 0, 1\nGPU-b, 0, 0, No, No\nGPU-c, 1, 1, 1, 1\nGPU-d, 1, 1, 1, 1\n[GPU is lost], 1, 1, 1, 1\n"), requests, listing))
	a, b := &listing.GPUs[0], &listing.GPUs[1]
	assert.Equal(t, gpu.RemappedRows{Corrected: gpu.Total(int64(0)), Pending: gpu.Some(false), Failed: gpu.Some(true)}, a.Device.RemappedRows)
	assert.Equal(t, []Refusal{{"remapped_rows.uncorrectable", "Unknown Error"}}, a.Refusals)
	assert.Equal(t, gpu.StatePredictedFailure, a.Device.State())
	assert.Equal(t, gpu.RemappedRows{
		Corrected: gpu.Total(int64(4)), Uncorrected: gpu.Total(int64(5)), Pending: gpu.Some(true), Failed: gpu.Some(false),
	}, b.Device.RemappedRows)
	for _, g := range listing.GPUs[2:] {
		assert.Equal(t, gpu.RemappedRows{}, g.Device.RemappedRows)
	}

	listing, _ = QueryGPU([]byte("uuid\nGPU-a\n"), nil)
	require.True(t, RemappedRows([]byte("GPU-a, 0, 0, 2, [N/A]\n"), requests, listing))
	assert.False(t, listing.GPUs[0].Device.RemappedRows.Pending.Known(), "2 is no flag")
	assert.False(t, listing.GPUs[0].Device.RemappedRows.Failed.Known())
	assert.False(t, RemappedRows([]byte("ERROR: Option --query-remapped-rows is not recognized. Please run 'nvidia-smi -h'.\n"), requests, listing))
}
