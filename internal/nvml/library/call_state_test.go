// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCallsAreRemembered(t *testing.T) {
	power := NewFunction("power", "nvmlDeviceGetPowerUsage")
	energy := NewFunction("energy", "nvmlDeviceGetTotalEnergyConsumption")
	name := NewFunction("model", "nvmlDeviceGetName")
	c := NewCalls(func(f *Function) bool { return f != name }, "GPU-1")
	c.Begin()
	assert.True(t, c.Can(power))
	assert.False(t, c.Can(name), "the library lacks it")

	assert.True(t, c.OK(power, OK))
	assert.False(t, c.OK(power, NotSupported))
	assert.False(t, c.Can(power), "it was refused for good")
	assert.False(t, c.Supported(power))
	assert.Empty(t, c.problems, "which is not a problem")

	assert.False(t, c.OK(energy, Unknown))
	assert.True(t, c.Supported(energy))
	require.Len(t, c.problems, 1)
	first := c.problems[0].Err
	require.EqualError(t, first, "nvml: GPU-1: read energy (nvmlDeviceGetTotalEnergyConsumption): "+
		"unknown error in the driver; see the kernel log (dmesg)")
	assert.Equal(t, "energy", c.problems[0].What)
	var calls []int
	for read := range 70 {
		c.Begin()
		if c.Can(energy) {
			calls = append(calls, read)
			c.OK(energy, Timeout)
		}
		require.Len(t, c.problems, 1)
		if len(calls) == 0 {
			require.Same(t, first, c.problems[0].Err, "the problem stays as it was")
		} else {
			require.ErrorIs(t, c.problems[0].Err, Timeout, "the reason is the present one")
		}
	}
	assert.Equal(t, []int{1, 5, 13, 29, 61}, calls, "ever less often")
	for !c.Can(energy) {
		c.Begin()
	}
	assert.True(t, c.OK(energy, OK))
	assert.Empty(t, c.problems)
	c.Begin()
	assert.True(t, c.Can(energy))

	c.OK(UUID, GPUIsLost)
	assert.Equal(t, GPUIsLost, c.Fatal)
	assert.False(t, c.Can(energy), "nothing more is asked in this read")
	c.Begin()
	assert.True(t, c.Can(energy))

	c.Reset()
	c.Begin()
	assert.True(t, c.Can(power), "another driver may")
}

func TestProblemsOfSameStep(t *testing.T) {
	sm, memory := NewFunction("clocks", "nvmlDeviceGetClockInfo"), NewFunction("clocks", "nvmlDeviceGetClockInfo")
	c := NewCalls(func(*Function) bool { return true }, "GPU-1")
	c.OK(sm, Unknown)
	c.OK(memory, NoPermission)
	require.Len(t, c.problems, 2)
	c.OK(sm, OK)
	require.Len(t, c.problems, 1)
	require.ErrorIs(t, c.problems[0].Err, NoPermission)
}
