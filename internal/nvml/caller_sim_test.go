// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// The steady state is forecast whole: a read calls nothing after the step in which it calls everything.
func TestForecast(t *testing.T) {
	b := start(t, "gpus = 1\n[process p]\ngpu = 0\ncount = 8\npid = 100\nsm = 3")
	for range 3 {
		b.read()
	}
	board := b.boards[0]
	board.at = b.clock
	board.begin()
	board.fields.begin()
	board.callAhead()
	assert.Greater(t, len(board.plan), 20)
	assert.Contains(t, board.plan, fnFields)
	for _, f := range board.plan {
		assert.True(t, board.ahead[f], f.symbol())
	}
	board.wanted = [numFunctions]bool{}
	board.readPartitioning()
	var d gpu.Device
	for _, step := range steps {
		step.read(board, &d)
	}
	for f := range numFunctions {
		assert.False(t, board.ahead[f], "%s was called and not wanted", f.symbol())
		assert.Equal(t, slices.Contains(board.plan, f), board.wanted[f], "%s was not forecast", f.symbol())
	}
}

// What is forecast outlives NVML being closed and opened; its memory is given back with the source.
func TestForecastOutlivesASession(t *testing.T) {
	b := start(t, "gpus = 1", func(c *Config) { c.KeepOpen = false })
	for range 3 {
		healthy(t, b.read(), 1)
		assert.Nil(t, b.session)
	}
	board := b.boards[0]
	assert.Greater(t, len(board.plan), 15)
	assert.NotNil(t, board.batch.c)
	require.NoError(t, b.Close())
	b.mu.Lock() // the goroutine of the last read may make up for what it finds not done
	defer b.mu.Unlock()
	assert.Nil(t, board.batch.c)
	assert.Nil(t, board.batch.fields.p)
}

// A GPU that is lost is asked nothing more: one call fails, whatever else was forecast.
func TestForecastEndsWithTheGPU(t *testing.T) {
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
			assert.Equal(t, gpu.StateFailed, device(t, n, 1).State())
			assert.Equal(t, gpu.StateOK, device(t, n, 0).State())
			assert.Equal(t, uint64(1), counters.TotalErrors(), counters.LastError())
		})
	}
}

// What is forecast finds room for lists as they were: one that has grown is read again, one of samples is complete at the
// next read.
func TestForecastOfListThatGrows(t *testing.T) {
	b := start(t, "gpus = 1\n[process p]\ngpu = 0\ncount = 10\npid = 100\nsm = 1\nmemory = 1Mi")
	for range 3 {
		assert.Len(t, b.read().Processes, 10)
	}
	b.set("[process p]\ngpu = 0\ncount = 700\npid = 100\nsm = 1\nmemory = 1Mi")
	n := b.read()
	assert.Len(t, n.Processes, 700)
	assert.Empty(t, n.Problems)
}

// A function that is only wanted where another has no answer is not called for nothing for ever.
func TestForecastOfTheInstantaneousValue(t *testing.T) {
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

func TestGone(t *testing.T) {
	for c := code(-1); c <= codeUnknown; c++ {
		a := c.answer()
		assert.Equal(t, a == deviceGone || a == driverGone, slices.Contains(gone[:], c), "code %d", c)
	}
}

// A library of which the loader has nothing to give is asked for nothing that is called directly; no pointer is called that
// is not there.
func TestNothingIsCalledThatWasNotFound(t *testing.T) {
	var has [numFunctions]bool
	for f := range has {
		has[f] = true
	}
	d := findDirect("no such library")
	d.confine(&has)
	for f := range numFunctions {
		if shapes[f].shape != 0 {
			assert.False(t, has[f], f.symbol())
		}
	}
	for _, f := range []function{fnGPMAlloc, fnGPMFree, fnGPMSample, fnGPMMetrics} {
		assert.False(t, has[f], f.symbol())
	}
	assert.True(t, has[fnName])
}
