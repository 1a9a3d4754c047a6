// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// cpuTime is what this process has used: on a machine that does other things as well, it says more than the clock.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// often makes the driver's rings full at every read, as they are when they are read every 17 s or more.
const often = "\n[gpu *]\nsample.period = 0.000001\n"

func BenchmarkSweep8x64FullRings(b *testing.B)  { sweepBench(b, byDefault, often) }
func BenchmarkSweep8x64(b *testing.B)           { sweepBench(b, byDefault, "") }
func BenchmarkSweep8x64Everything(b *testing.B) { sweepBench(b, gpu.GroupAll, "") }
func BenchmarkSweep8x64NoGPM(b *testing.B)      { sweepBench(b, byDefault&^gpu.GroupPipes, "") }

// BenchmarkSweep8x64Slow has a driver whose every call takes 1 ms: compare with calls/op divided by the number of GPUs.
func BenchmarkSweep8x64Slow(b *testing.B) {
	sweepBench(b, byDefault, "\n[fault slow]\ngpu = *\nfunction = nvmlDevice*\nlatency = 1ms\n")
}

// BenchmarkSweep8x64Open opens and closes NVML for each read.
func BenchmarkSweep8x64Open(b *testing.B) {
	sweepBench(b, byDefault, "", func(c *Config) { c.KeepOpen = false })
}

// BenchmarkBareC is the C program that makes the calls of BenchmarkSweep8x64, BenchmarkBareCFullRings those of FullRings.
func BenchmarkBareC(b *testing.B)          { bareC(b, "") }
func BenchmarkBareCFullRings(b *testing.B) { bareC(b, often) }

func bareC(b *testing.B, more string) {
	b.Helper()
	lib := simulator(b)
	path, err := nvmlsim.ScenarioFile("steady8x64")
	require.NoError(b, err)
	scenario, err := os.ReadFile(path)
	require.NoError(b, err)
	path = filepath.Join(b.TempDir(), "scenario")
	writeFile(b, path, string(scenario)+more)
	b.Setenv(nvmlsim.EnvScenario, path)
	b.Setenv(nvmlsim.EnvControl, filepath.Join(b.TempDir(), "control"))
	b.ResetTimer()
	out, err := exec.Command(lib.Sweep, lib.Full, strconv.Itoa(b.N)).CombinedOutput()
	require.NoError(b, err, "%s", out)
	b.Logf("%s", out)
}
