// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

func TestProcessUtilization(t *testing.T) {
	t.Run("several answers of one sample each", func(t *testing.T) {
		var u processUtilization
		u.start(10e6, time.Second)
		u.add([]library.ProcessSample{{PID: 1, Time: 10e6, SM: 90, Memory: 30}})
		u.add(nil)
		u.add([]library.ProcessSample{
			{PID: 1, Time: 12e6, SM: 30, Memory: 33, Encoder: 12}, {PID: 2, Time: 12e6, Memory: 0xFFFFFFFF, Decoder: 60},
		})
		one := u.usage(1)
		assert.InEpsilon(t, 0.4, one.sm, 1e-9)
		assert.InEpsilon(t, 0.04, one.encoder, 1e-9)
		memory, ok := one.memory.Get()
		assert.True(t, ok)
		assert.InEpsilon(t, 0.21, memory, 1e-9)
		assert.InEpsilon(t, 0.2, u.usage(2).decoder, 1e-9)
		assert.False(t, u.usage(2).memory.Known(), "its sample lacks it")
		assert.Equal(t, processUse{memory: gpu.Some(0.0)}, u.usage(3))
	})
	t.Run("old and impossible ones", func(t *testing.T) {
		var u processUtilization
		u.start(20e6, time.Second)
		u.add([]library.ProcessSample{{PID: 1, Time: 18e6, SM: 90}, {PID: 1, Time: 20e6, SM: 101}})
		u.now = time.Now()
		assert.False(t, u.complete())
		assert.Zero(t, u.usage(1).sm)
	})
	t.Run("a window without samples", func(t *testing.T) {
		var u processUtilization
		now := time.Now()
		u.now = now
		u.add(nil)
		assert.False(t, u.complete(), "nothing is known of when")
		u.end()
		u.add(nil)
		u.now = now.Add(time.Second)
		assert.False(t, u.complete())
		u.now = now.Add(slowestSamples)
		assert.True(t, u.complete())
		u.now, u.clock = now, 5
		assert.True(t, u.complete(), "the GPU's own samples show it")
	})
}

// A clock that is set back by less than is noticed makes no idle process either, nor does one that is set forward.
func TestProcessUtilizationOnAClockThatIsSet(t *testing.T) {
	noon := time.Unix(1_700_000_000, 0)
	begin := func(period uint64) (u processUtilization) {
		u.start(micros(noon), time.Second)
		u.period = period
		u.add([]library.ProcessSample{{PID: 1, Time: micros(noon), SM: 50}})
		u.now = noon
		u.end()
		return u
	}
	t.Run("back by a little", func(t *testing.T) {
		u := begin(0)
		u.now = noon.Add(-time.Second)
		u.ended = u.now.Add(-3 * time.Second) // have gone by while the clock was set back by 4 s
		u.add(nil)
		assert.False(t, u.complete(), "the driver's samples are from before the window")
		u.now = noon.Add(slowestSamples)
		assert.True(t, u.complete())
	})
	t.Run("of another clock", func(t *testing.T) {
		var u processUtilization
		u.start(5e6, time.Second)
		u.now = noon
		u.end()
		u.now = noon.Add(slowestSamples)
		assert.True(t, u.complete(), "the time since the machine was booted has nothing to do with ours")
	})
	t.Run("forward", func(t *testing.T) {
		u := begin(1e6)
		u.now = noon.Add(10 * time.Second) // by the clock that is never set
		hour := micros(noon.Add(time.Hour))
		for second := range uint64(10) {
			u.add([]library.ProcessSample{{PID: 1, Time: hour + second*1e6, SM: 50}})
		}
		assert.InDelta(t, 0.5, u.usage(1).sm, 1e-9, "of 10 s, not of an hour")
	})
}
