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

// A GPU that is lost is asked nothing more: one call fails.
func TestNoCallAfterTheGPUIsLost(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	for _, ret := range []string{"GPU_IS_LOST", "RESET_REQUIRED"} {
		t.Run(ret, func(t *testing.T) {
			b := start(t, "gpus = 2")
			for range 3 {
				healthy(t, b.read(), 2)
			}
			b.set("[fault f]\ngpu = 1\nfunction = nvmlDevice*\nreturn = " + ret)
			counters.Reset()
			n := b.read()
			assert.Equal(t, gpu.StateFailed, gpuAt(t, n, 1).State())
			assert.Equal(t, gpu.StateOK, gpuAt(t, n, 0).State())
			assert.Equal(t, uint64(1), counters.TotalErrors(), counters.LastError())
		})
	}
}

// A list that has grown since the last read is read whole.
func TestListThatGrows(t *testing.T) {
	b := start(t, "gpus = 1\n[process p]\ngpu = 0\ncount = 10\npid = 100\nsm = 1\nmemory = 1Mi")
	for range 3 {
		assert.Len(t, b.read().Processes, 10)
	}
	b.set("[process p]\ngpu = 0\ncount = 700\npid = 100\nsm = 1\nmemory = 1Mi")
	n := b.read()
	assert.Len(t, n.Processes, 700)
	assert.Empty(t, n.Problems)
}

// The instantaneous value is not asked for where there are samples.
func TestNoInstantaneousValueWithSamples(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	b := start(t, "gpus = 1\ntime = manual")
	for i := range 4 {
		b.at(float64(10*(i+1)), "")
		b.read()
	}
	b.at(50, "")
	counters.Reset()
	b.read()
	assert.Zero(t, counters.Calls("nvmlDeviceGetUtilizationRates"))
}
