// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestConfig(t *testing.T) {
	c := DefaultConfig()
	assert.Equal(t, Config{KeepOpen: true}, c)
	require.NoError(t, c.Check())
	absolute := "/usr/lib/libnvidia-ml.so.1"
	if runtime.GOOS == "windows" {
		absolute = `C:\nvml.dll`
	}
	c.LibraryPath = absolute
	require.NoError(t, c.Check())
	c.LibraryPath = "lib/libnvidia-ml.so.1"
	require.EqualError(t, c.Check(),
		`library_path: must be an absolute path, or empty for the dynamic loader's search; got "lib/libnvidia-ml.so.1"`)
}

func TestCodes(t *testing.T) {
	for c, text := range codeTexts {
		assert.True(t, strings.HasPrefix(c.Error(), text))
		if remedy := codeRemedies[c]; remedy != "" {
			assert.Contains(t, c.Error(), remedy)
		}
	}
	assert.Equal(t, "error 4711", code(4711).Error())
	for c, want := range map[code]answer{
		codeOK: answered, codeNotFound: nothing, codeNoData: nothing, codeNotSupported: never, codeArgumentVersion: never,
		codeNoPermission: denied, codeUnknown: troubled, codeTimeout: troubled, 4711: troubled, codePanicked: troubled,
		codeGPUIsLost: deviceGone, codeResetRequired: deviceGone, codeUninitialized: driverGone, codeVersionMismatch: driverGone,
	} {
		assert.Equal(t, want, c.answer(), "%v", c)
	}
}

func TestFunctionsAreNamed(t *testing.T) {
	for f := range numFunctions {
		require.GreaterOrEqual(t, len(symbols[f]), 2, "function %d", f)
		assert.NotEmpty(t, f.what())
		for _, s := range symbols[f][1:] {
			assert.True(t, strings.HasPrefix(s, "nvml"), s)
		}
		if len(symbols[f]) > 2 {
			assert.NotContains(t, f.symbol(), "_v", "the oldest version, for messages")
		}
	}
	for f, spec := range fieldSpecs {
		assert.NotEmpty(t, spec.what, "field %d", f)
		assert.NotEmpty(t, spec.candidates, "field %d", f)
		assert.NotZero(t, spec.group, "field %d", f)
	}
	has := available(func(symbol string) error {
		if symbol == "nvmlInit" || symbol == "nvmlShutdown" {
			return nil
		}
		return errors.New("absent")
	})
	assert.True(t, has[fnInit] && has[fnShutdown])
	assert.False(t, has[fnUUID])
}

func TestCallsAreRemembered(t *testing.T) {
	var has [numFunctions]bool
	has[fnPower], has[fnEnergy], has[fnUUID] = true, true, true
	c := calls{has: &has, device: "GPU-1"}
	c.begin()
	assert.True(t, c.can(fnPower))
	assert.False(t, c.can(fnName), "the library lacks it")

	assert.True(t, c.ok(fnPower, codeOK))
	assert.False(t, c.ok(fnPower, codeNotSupported))
	assert.False(t, c.can(fnPower), "it was refused for good")
	assert.False(t, c.supported(fnPower))
	assert.Empty(t, c.problems, "which is nobody's fault")

	assert.False(t, c.ok(fnEnergy, codeUnknown))
	assert.True(t, c.supported(fnEnergy))
	require.Len(t, c.problems, 1)
	first := c.problems[0].Err
	require.EqualError(t, first, "nvml: GPU-1: read energy (nvmlDeviceGetTotalEnergyConsumption): "+
		"unknown error inside the driver; look into the kernel's log (dmesg)")
	assert.Equal(t, "energy", c.problems[0].What)
	var asked []int
	for read := range 70 {
		c.begin()
		if c.can(fnEnergy) {
			asked = append(asked, read)
			c.ok(fnEnergy, codeTimeout)
		}
		require.Len(t, c.problems, 1)
		require.Same(t, first, c.problems[0].Err, "the problem stays as it was")
	}
	assert.Equal(t, []int{1, 5, 13, 29, 61}, asked, "ever less often")
	for !c.can(fnEnergy) {
		c.begin()
	}
	assert.True(t, c.ok(fnEnergy, codeOK))
	assert.Empty(t, c.problems)
	c.begin()
	assert.True(t, c.can(fnEnergy))

	c.ok(fnUUID, codeGPUIsLost)
	assert.Equal(t, codeGPUIsLost, c.fatal)
	assert.False(t, c.can(fnEnergy), "nothing more is asked in this read")
	c.begin()
	assert.True(t, c.can(fnEnergy))

	c.reset()
	c.begin()
	assert.True(t, c.can(fnPower), "another driver may")
}

func TestProblemsOfOneStepDoNotHideEachOther(t *testing.T) {
	has := [numFunctions]bool{fnClockSM: true, fnClockMemory: true}
	c := calls{has: &has, device: "GPU-1"}
	c.ok(fnClockSM, codeUnknown)
	c.ok(fnClockMemory, codeNoPermission)
	require.Len(t, c.problems, 2)
	c.ok(fnClockSM, codeOK)
	require.Len(t, c.problems, 1)
	require.ErrorIs(t, c.problems[0].Err, codeNoPermission)
}

func TestBackoff(t *testing.T) {
	var b backoff
	now := time.Now()
	assert.True(t, b.due(now, ""))
	b.failed(now, "")
	assert.True(t, b.due(now, ""), "at the next read")
	for _, wait := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute} {
		b.failed(now, "")
		assert.False(t, b.due(now.Add(wait-1), ""))
		assert.True(t, b.due(now.Add(wait), ""))
	}
	assert.True(t, b.due(now, "a sign"))
	b.succeeded()
	assert.True(t, b.due(now, ""))
}

func samplesOf(pairs ...uint64) []sample {
	var all []sample
	for i := 0; i < len(pairs); i += 2 {
		s := sample{time: pairs[i]}
		binary.NativeEndian.PutUint32(s.value[:], uint32(pairs[i+1]))
		all = append(all, s)
	}
	return all
}

func TestMean(t *testing.T) {
	var m mean
	_, ok := m.take()
	assert.False(t, ok)
	m.add(samplesOf(20, 60, 10, 30, 0, 0, 0, 0), typeUnsignedInt) // in any order, empty entries at the end
	v, ok := m.take()
	assert.True(t, ok)
	assert.InEpsilon(t, 0.45, v, 1e-9)
	assert.Equal(t, uint64(20), m.last)

	m.add(samplesOf(10, 100, 20, 100, 30, 40), typeUnsignedInt)
	m.add(samplesOf(40, 20, 41, 101), typeUnsignedInt)
	v, ok = m.take()
	assert.True(t, ok)
	assert.InEpsilon(t, 0.3, v, 1e-9, "what was seen does not count again, nor what is more than all")
	_, ok = m.take()
	assert.False(t, ok)

	m.add([]sample{{time: 50}}, typeDouble)
	_, ok = m.take()
	assert.False(t, ok, "of a type that NVML does not use for percent")

	var first mean
	all := samplesOf(1_000_000, 100, 5_000_000, 0, 6_000_000, 50)
	first.start(all, time.Unix(0, 0), 2*time.Second)
	first.add(all, typeUnsignedInt)
	v, _ = first.take()
	assert.InEpsilon(t, 0.25, v, 1e-9, "the last two seconds")
}

func TestSpan(t *testing.T) {
	assert.Zero(t, span(nil))
	assert.Zero(t, span(samplesOf(10, 1)))
	assert.Equal(t, uint64(30), span(samplesOf(30, 1, 20, 1, 40, 1, 0, 0)))
}

func TestUsages(t *testing.T) {
	t.Run("several answers of one sample each", func(t *testing.T) {
		var u usages
		u.start(10e6, time.Second)
		u.add([]usage{{pid: 1, time: 10e6, sm: 90}})
		u.add(nil)
		u.add([]usage{{pid: 1, time: 12e6, sm: 30, enc: 12}, {pid: 2, time: 12e6, decoder: 60}})
		sm, enc, _ := u.of(1)
		assert.InEpsilon(t, 0.4, sm, 1e-9)
		assert.InEpsilon(t, 0.04, enc, 1e-9)
		_, _, dec := u.of(2)
		assert.InEpsilon(t, 0.2, dec, 1e-9)
		sm, _, _ = u.of(3)
		assert.Zero(t, sm)
	})
	t.Run("old and impossible ones", func(t *testing.T) {
		var u usages
		u.start(20e6, time.Second)
		u.add([]usage{{pid: 1, time: 18e6, sm: 90}, {pid: 1, time: 20e6, sm: 101}})
		u.now = time.Now()
		assert.False(t, u.told())
		sm, _, _ := u.of(1)
		assert.Zero(t, sm)
	})
	t.Run("a window without samples", func(t *testing.T) {
		var u usages
		now := time.Now()
		u.now = now
		u.add(nil)
		assert.False(t, u.told(), "nothing is known of when")
		u.done()
		u.add(nil)
		u.now = now.Add(time.Second)
		assert.False(t, u.told())
		u.now = now.Add(slowestSamples)
		assert.True(t, u.told())
		u.now, u.clock = now, 5
		assert.True(t, u.told(), "the GPU's own samples tell")
	})
}

func TestRoster(t *testing.T) {
	var r roster
	for range 2 {
		r.clear()
		r.add(listed{pid: 1, kind: gpu.ProcessCompute})
		r.add(listed{pid: 2, kind: gpu.ProcessCompute, memory: gpu.Some[int64](7)})
		r.add(listed{pid: 1, kind: gpu.ProcessGraphics, memory: gpu.Some[int64](5)})
		r.add(listed{pid: 2, kind: gpu.ProcessMPS, memory: gpu.Some[int64](9)})
		assert.Equal(t, []listed{
			{1, gpu.Some[int64](5), gpu.ProcessComputeGraphics}, {2, gpu.Some[int64](7), gpu.ProcessMPS},
		}, r.all)
	}
}

func TestCrew(t *testing.T) {
	t.Run("all", func(t *testing.T) {
		var c crew
		var ran [20]atomic.Int32
		begun, ended := c.do(t.Context(), len(ran), func(i int) { ran[i].Add(1) })
		assert.Equal(t, len(ran), begun)
		for i := range ran {
			assert.Equal(t, int32(1), ran[i].Load())
			assert.True(t, ended[i].Load())
		}
	})
	t.Run("none", func(t *testing.T) {
		begun, _ := new(crew).do(t.Context(), 0, nil)
		assert.Zero(t, begun)
	})
	t.Run("one hangs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { // time passes when nothing else is left to do
			var c crew
			var idle atomic.Int32
			c.idle = func() { idle.Add(1) }
			hang := make(chan struct{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begun, ended := c.do(ctx, 8, func(i int) {
				if i == 3 {
					<-hang
				}
			})
			assert.Equal(t, 8, begun, "the others do not wait behind it")
			for i := range ended {
				assert.Equal(t, i != 3, ended[i].Load(), "%d", i)
			}
			assert.Equal(t, int64(1), c.outstanding.Load())
			before := idle.Load()
			close(hang)
			synctest.Wait()
			assert.Equal(t, before+1, idle.Load())
			assert.Zero(t, c.outstanding.Load())
		})
	})
	t.Run("not begun in time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var c crew
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			release, finished := make(chan struct{}), make(chan struct{}, 8)
			begun, _ := c.do(ctx, 8, func(int) { <-release; finished <- struct{}{} })
			assert.LessOrEqual(t, begun, 1)
			close(release)
			synctest.Wait()
			assert.Zero(t, c.outstanding.Load())
			assert.Len(t, finished, begun)
		})
	})
}

func TestIdentityOfInstances(t *testing.T) {
	parent := &identity{id: "GPU-aa", name: "nvidia2"}
	for _, tt := range []struct {
		uuid, id, name string
		gi, ci         gpu.Opt[int]
	}{
		{"MIG-bb", "MIG-bb", "nvidia2/gi3/ci1", gpu.Some(3), gpu.Some(1)},
		{"MIG-bb", "MIG-bb", "", gpu.Opt[int]{}, gpu.Some(1)},
		{"MIG-GPU-aa/3/1", "GPU-aa/3/1", "nvidia2/gi3/ci1", gpu.Some(3), gpu.Some(1)},
		{"", "GPU-aa/3/1", "nvidia2/gi3/ci1", gpu.Some(3), gpu.Some(1)},
		{"", "", "", gpu.Opt[int]{}, gpu.Opt[int]{}},
	} {
		i := identity{gi: tt.gi, ci: tt.ci}
		i.place(tt.uuid, parent)
		assert.Equal(t, [2]string{tt.id, tt.name}, [2]string{i.id, i.name})
	}
	assert.Equal(t, "1c.3g.40gb", profile("NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb"))
	assert.Empty(t, profile("NVIDIA H100 80GB HBM3"))
	assert.Equal(t, gpu.Some[int64](0), numaNode("0"))
	assert.False(t, numaNode("-1").Known())
	assert.False(t, numaNode("").Known())
}
