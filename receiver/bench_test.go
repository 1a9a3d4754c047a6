// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/nvml"
	"github.com/otelgpu/gpureceiver/internal/record"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// steady runs the scenario that never changes: 8 GPUs with 8 processes each.
func steady(b *testing.B) nvmlsim.Library {
	b.Helper()
	lib := simulator(b)
	path, err := nvmlsim.ScenarioFile("steady8x64")
	require.NoError(b, err)
	scenario, err := os.ReadFile(path)
	require.NoError(b, err)
	nvmlsim.Use(b, string(scenario))
	return lib
}

// cpuTime returns the CPU time of this process. On a busy machine it is more meaningful than elapsed time.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkScrape8x64 measures a whole scrape, from the driver's library to the pipeline, with the default metrics.
// BenchmarkScrape8x64Library measures the library's share of it.
func BenchmarkScrape8x64(b *testing.B) {
	lib := steady(b)
	cfg := metadata.NewDefaultMetricsBuilderConfig()
	events := metadata.DefaultEventsConfig()
	settings := nvml.DefaultConfig()
	settings.LibraryPath = lib.Full
	now := time.Now()
	source := nvml.New(&settings, record.Wanted(&cfg.Metrics, &events, false), nvml.WithClock(func() time.Time { return now }))
	b.Cleanup(func() { require.NoError(b, source.Close()) })
	s := newStage(b, "test", source, cfg)
	points := 0
	for range 3 {
		now = now.Add(time.Second)
		points = s.record().DataPointCount()
	}
	require.Greater(b, points, 300)
	b.ReportAllocs()
	b.ResetTimer()
	start := cpuTime(b)
	for range b.N {
		now = now.Add(time.Second)
		s.record()
	}
	b.StopTimer()
	b.ReportMetric(float64((cpuTime(b)-start).Nanoseconds())/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(points), "points/op")
}

var sweepCPU = regexp.MustCompile(`(?m)^cpu\s+([0-9.]+) us per sweep`)

// BenchmarkScrape8x64Library runs a C program that makes the same calls and nothing else.
func BenchmarkScrape8x64Library(b *testing.B) {
	lib := steady(b)
	b.ResetTimer()
	out, err := exec.CommandContext(b.Context(), lib.Sweep, lib.Full, strconv.Itoa(b.N)).CombinedOutput()
	require.NoError(b, err, "%s", out)
	match := sweepCPU.FindSubmatch(out)
	require.NotNil(b, match, "%s", out)
	us, err := strconv.ParseFloat(string(match[1]), 64)
	require.NoError(b, err)
	b.ReportMetric(us*1000, "cpu-ns/op")
}
