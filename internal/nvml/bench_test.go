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
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		s.clock = s.clock.Add(time.Second)
		if _, err := s.Read(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	calls := float64(counters.TotalCalls()) / float64(b.N)
	b.ReportMetric(calls, "calls/op")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/calls, "ns/call")
}

func BenchmarkSweep8x64(b *testing.B)           { sweepBench(b, byDefault, "") }
func BenchmarkSweep8x64Everything(b *testing.B) { sweepBench(b, gpu.GroupAll, "") }
func BenchmarkSweep8x64NoGPM(b *testing.B)      { sweepBench(b, byDefault&^gpu.GroupPipes, "") }

// BenchmarkSweep8x64Slow has a driver of which every call takes 1 ms: to be compared with calls/op divided by the GPUs.
func BenchmarkSweep8x64Slow(b *testing.B) {
	sweepBench(b, byDefault, "\n[fault slow]\ngpu = *\nfunction = nvmlDevice*\nlatency = 1ms\n")
}

// BenchmarkSweep8x64Open opens and closes NVML for each read.
func BenchmarkSweep8x64Open(b *testing.B) {
	sweepBench(b, byDefault, "", func(c *Config) { c.KeepOpen = false })
}

// BenchmarkBareC is the C program that makes a scrape's calls without Go.
func BenchmarkBareC(b *testing.B) {
	lib := simulator(b)
	path, err := nvmlsim.ScenarioFile("steady8x64")
	require.NoError(b, err)
	b.Setenv(nvmlsim.EnvScenario, path)
	b.Setenv(nvmlsim.EnvControl, filepath.Join(b.TempDir(), "control"))
	b.ResetTimer()
	out, err := exec.Command(lib.Sweep, lib.Full, strconv.Itoa(b.N)).CombinedOutput() //nolint:gosec // built by this test
	require.NoError(b, err, "%s", out)
	b.Logf("%s", out)
}
