// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// byDefault is what the metrics need that are on by default.
const byDefault = gpu.GroupAll &^ (gpu.GroupProtectedMemory | gpu.GroupPowerDetail | gpu.GroupClockLimits |
	gpu.GroupInterconnectLinks | gpu.GroupECCLifetime)

func sweepBench(b *testing.B, want gpu.Group, faults string, options ...any) {
	b.Helper()
	path, err := nvmlsim.ScenarioFile("steady8x64")
	require.NoError(b, err)
	scenario, err := os.ReadFile(path)
	require.NoError(b, err)
	s := start(b, string(scenario)+faults, append(options, want)...)
	counters, err := nvmlsim.OpenCounters(simulator(b).Full)
	require.NoError(b, err)
	for range 3 {
		s.clock = s.clock.Add(time.Second)
		n := s.read()
		require.Len(b, ids(n), 8)
	}
	ctx := b.Context()
	counters.Reset()
	cpu := cpuTime(b)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		s.clock = s.clock.Add(time.Second)
		if _, err := s.Read(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	cpu = cpuTime(b) - cpu
	calls := float64(counters.TotalCalls()) / float64(b.N)
	b.ReportMetric(calls, "calls/op")
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N)/calls, "cpu-ns/call")
}

// cpuTime is what this process has used: on a machine that does other work too, it is more exact than elapsed time.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkSweep8x64(b *testing.B)           { sweepBench(b, byDefault, "") }
func BenchmarkSweep8x64Everything(b *testing.B) { sweepBench(b, gpu.GroupAll, "") }

// BenchmarkSweep8x64Slow has a driver whose every call takes 1 ms: compare with calls/op divided by the number of GPUs.
func BenchmarkSweep8x64Slow(b *testing.B) {
	sweepBench(b, byDefault, "\n[fault slow]\ngpu = *\nfunction = nvmlDevice*\nlatency = 1ms\n")
}

// BenchmarkSweep8x64Open opens and closes NVML for each read.
func BenchmarkSweep8x64Open(b *testing.B) {
	sweepBench(b, byDefault, "", func(c *Config) { c.KeepOpen = false })
}

// BenchmarkAskEvents polls the driver for XIDs, as every second between reads. There are no XIDs.
func BenchmarkAskEvents(b *testing.B) {
	s := start(b, "gpus = 8")
	s.watch.period = time.Hour
	s.Watch(func([]gpu.Event) {})
	s.read()
	for b.Loop() {
		s.pollEvents()
	}
}
