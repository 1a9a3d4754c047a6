// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestCorrectMemory(t *testing.T) {
	t.Parallel()
	zero, some := gpu.Some[int64](0), gpu.Some[int64](5)
	m := gpu.Memory{Limit: some, Usage: zero, VisibleLimit: zero, VisibleUsage: zero}
	CorrectMemory(&m)
	assert.Equal(t, gpu.Memory{Limit: some}, m)
	m = gpu.Memory{Limit: some, Usage: zero, VisibleLimit: some, VisibleUsage: zero}
	CorrectMemory(&m)
	assert.Equal(t, gpu.Memory{Limit: some, Usage: zero, VisibleLimit: some, VisibleUsage: zero}, m, "memory of its own that is not in use")
	m = gpu.Memory{Limit: zero, Usage: zero, VisibleLimit: some, VisibleUsage: zero, SystemLimit: some, SystemUsage: zero}
	CorrectMemory(&m)
	assert.Equal(t, gpu.Memory{VisibleLimit: some, SystemLimit: some, SystemUsage: zero}, m, "its size was not read")
}

func TestCorrectPower(t *testing.T) {
	t.Parallel()
	for draw, want := range map[float64]gpu.Opt[float64]{0: {}, 0.012: {}, 0.3: gpu.Some(0.3), 250: gpu.Some(250.0)} {
		p := gpu.Power{Draw: gpu.Some(draw)}
		CorrectPower(&p, gpu.Counter[float64]{})
		assert.Equal(t, want, p.Draw)
	}
	p := gpu.Power{Draw: gpu.Some(0.0)}
	CorrectPower(&p, gpu.Total(7.0))
	assert.Equal(t, gpu.Some(0.0), p.Draw, "it counts energy, so it is a die of its own")
}
