// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// An unsupported call is made once: in the steady state no call fails.
func TestSteadyStateMakesNoFailingCall(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	for _, board := range []string{"h100", "a100", "b200", "gh200", "gb10", "turing", "geforce"} {
		t.Run(board, func(t *testing.T) {
			b := start(t, "gpus = 2\ntime = manual\n[gpu *]\nboard = "+board+
				"\n[process p]\ngpu = *\ncount = 200\npid = 100\nsm = 1\nmemory = 1Mi")
			for i := range 3 {
				b.schedule(float64(10*(i+1)), "")
				n := b.read()
				assert.Empty(t, n.Problems)
				assert.Len(t, n.Processes, 400)
			}
			b.schedule(40, "")
			counters.Reset()
			b.read()
			calls := counters.TotalCalls()
			assert.Zero(t, counters.TotalErrors())
			assert.Equal(t, uint64(2), counters.Calls("nvmlDeviceGetFieldValues"), "all fields of a GPU in one call")
			b.schedule(50, "")
			counters.Reset()
			b.read()
			assert.Equal(t, calls, counters.TotalCalls())
		})
	}
}

// What no metric needs costs no call.
func TestUnwantedGroupsCostNoCall(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	count := func(t *testing.T, want gpu.Group) (calls uint64) {
		t.Helper()
		t.Run(fmt.Sprintf("%#x", uint64(want)), func(t *testing.T) {
			b := start(t, "gpus = 1\ntime = manual\n[gpu 0]\nboard = h100\nfans = 2\nfan = 30\nfan.rpm = 900\n[process p]\ngpu = 0\npid = 100\nsm = 3", want)
			for i := range 2 {
				b.schedule(float64(10*(i+1)), "")
				b.read()
			}
			b.schedule(30, "")
			counters.Reset()
			b.read()
			calls = counters.TotalCalls()
			assert.Zero(t, counters.TotalErrors())
		})
		return calls
	}
	const always = 1 // how many GPUs there are
	assert.Equal(t, uint64(always), count(t, 0))
	for group, calls := range map[gpu.Group]uint64{
		gpu.GroupUtilization:           2,
		gpu.GroupMediaUtilization:      5, // the samples of the GPU, and what each engine does now
		gpu.GroupMemory:                1,
		gpu.GroupProtectedMemory:       1,
		gpu.GroupTemperature:           2, // one of them the fields
		gpu.GroupTemperatureLimits:     1, // the margin; thresholds do not change
		gpu.GroupPower:                 1,
		gpu.GroupPowerDetail:           1,
		gpu.GroupPowerLimit:            1,
		gpu.GroupEnergy:                1,
		gpu.GroupClocks:                4,
		gpu.GroupClockLimits:           0,
		gpu.GroupThrottle:              1,
		gpu.GroupThrottleTime:          1,
		gpu.GroupPerformanceState:      1,
		gpu.GroupFans:                  2,
		gpu.GroupFanSpeed:              1,
		gpu.GroupModes:                 3, // persistence, compute and the fields
		gpu.GroupPendingModes:          1, // whether ECC is on
		gpu.GroupVGPULicense:           0, // of a virtual GPU alone
		gpu.GroupEncoderSessions:       1,
		gpu.GroupFrameBufferCapture:    1,
		gpu.GroupPCIeDetail:            1,
		gpu.GroupBAR1:                  1,
		gpu.GroupPCIeIO:                0, // the counters have 32 bits
		gpu.GroupPCIeLink:              1, // the generation
		gpu.GroupPCIeReplay:            1,
		gpu.GroupInterconnect:          1,
		gpu.GroupInterconnectErrors:    1,
		gpu.GroupInterconnectLinks:     1,
		gpu.GroupInterconnectState:     1,
		gpu.GroupInterconnectSpeed:     1,
		gpu.GroupInterconnectBitErrors: 0, // of NVLink 5 alone
		gpu.GroupFabric:                1,
		gpu.GroupECC:                   1,
		gpu.GroupECCLifetime:           1,
		gpu.GroupECCMemory:             2, // the fields, and the status of SRAM
		gpu.GroupECCLocations:          2,
		gpu.GroupRemappedRows:          1,
		gpu.GroupMemoryBanks:           1,
		gpu.GroupPipes:                 2,
		gpu.GroupRecovery:              1,
		gpu.GroupProcesses:             3,
		gpu.GroupProcessUtilization:    4,
		gpu.GroupEvents:                1,
	} {
		assert.Equal(t, calls+always, count(t, group), "group %#x", uint64(group))
	}
	total := count(t, gpu.GroupAll)
	t.Logf("%d calls per GPU with everything", total)
	assert.Less(t, total, uint64(50))
}

// A function that is refused is a problem and is not called again. One that fails is called ever less often. Nothing else is affected.
func TestSingleFunctionsRefused(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	callCount := func(b *bench, function string, reads int) (n uint64) {
		counters.Reset()
		for range reads {
			b.read()
		}
		return counters.Calls(function)
	}
	t.Run("not permitted", func(t *testing.T) {
		b := start(t, "gpus = 2\n[fault f]\ngpu = 1\nfunction = nvmlDeviceGetPerformanceState\nreturn = NO_PERMISSION")
		for range 3 {
			n := b.read()
			healthy(t, n, 2)
			require.Len(t, n.Problems, 1)
			p := problem(t, n, "performance state")
			assert.Equal(t, gpuAt(t, n, 1).ID, p.Device)
			require.EqualError(t, p.Err, "nvml: "+p.Device+": read performance state (nvmlDeviceGetPerformanceState): not permitted; "+
				"run the collector as a user that can open the /dev/nvidia* files, or as root if the driver restricts them; "+
				"in a container with MIG enabled, set NVIDIA_MIG_MONITOR_DEVICES=all and add CAP_SYS_ADMIN")
			assert.False(t, gpuAt(t, n, 1).PerformanceState.Known())
			assert.True(t, gpuAt(t, n, 0).PerformanceState.Known())
		}
		assert.Equal(t, uint64(5), callCount(b, "nvmlDeviceGetPerformanceState", 5), "the other GPU alone")
	})
	t.Run("unknown error", func(t *testing.T) {
		b := start(t, "gpus = 1\n[fault f]\ngpu = 0\nfunction = nvmlDeviceGetTemperature\nreturn = UNKNOWN")
		for range 3 {
			n := b.read()
			assert.Equal(t, gpu.StateOK, gpuAt(t, n, 0).State())
			require.ErrorContains(t, problem(t, n, "temperature").Err, "see the kernel log")
		}
		assert.LessOrEqual(t, callCount(b, "nvmlDeviceGetTemperature", 70), uint64(6))
		b.set("[fault f]\npresent = false")
		require.Eventually(t, func() bool { return len(b.read().Problems) == 0 }, time.Minute, time.Millisecond)
		assert.Equal(t, uint64(5), callCount(b, "nvmlDeviceGetTemperature", 5))
	})
	t.Run("a field", func(t *testing.T) {
		b := start(t, "gpus = 1\n[fault f]\ngpu = 0\nfield = 185\nreturn = UNKNOWN")
		n := b.read()
		assert.False(t, gpuAt(t, n, 0).Power.Draw.Known())
		assert.True(t, gpuAt(t, n, 0).Power.Instant.Known())
		require.ErrorContains(t, problem(t, n, "power").Err, "nvmlDeviceGetFieldValues")
	})
	t.Run("all fields", func(t *testing.T) {
		b := start(t, "gpus = 1\n[fault f]\ngpu = 0\nfunction = nvmlDeviceGetFieldValues\nreturn = NOT_SUPPORTED")
		for range 2 {
			n := b.read()
			healthy(t, n, 1)
			d := gpuAt(t, n, 0)
			approx(t, 70, d.Power.Draw, "power, by the older function")
			approx(t, 700, d.Power.Limit[gpu.LimitEnforced], "power limit, by the older function")
			approx(t, 700, d.Power.Limit[gpu.LimitMax], "highest power limit, by the older function")
			approx(t, 200, d.Power.Limit[gpu.LimitMin], "lowest power limit, by the older function")
			approx(t, 700, d.Power.Limit[gpu.LimitDefault], "default power limit, by the older function")
			assert.True(t, d.RemappedRows.Pending.Known())
			assert.Contains(t, errorCounts(t, d.Errors, true), gpu.ErrorUncorrected)
			assert.Empty(t, n.Problems)
		}
	})
	t.Run("the binding's trouble", func(t *testing.T) {
		b := start(t, "gpus = 1\n[fault f]\ngpu = 0\nfunction = nvmlDeviceGetComputeRunningProcesses, nvmlDeviceGetProcessUtilization\n"+
			"return = INSUFFICIENT_SIZE\n[process p]\ngpu = 0\npid = 9\nsm = 1")
		n := b.read()
		healthy(t, n, 1)
		require.ErrorContains(t, problem(t, n, "compute processes").Err, "the list grew while it was read")
		b.set("[fault f]\ngpu = 0\nfunction = nvmlDeviceGetComputeRunningProcesses\nreturn = INSUFFICIENT_SIZE\ncalls = 2")
		require.Eventually(t, func() bool { return len(b.read().Processes) == 1 }, time.Minute, time.Millisecond)
	})
}
