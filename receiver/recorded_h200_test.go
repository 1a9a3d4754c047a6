// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/nvml"
	"github.com/otelgpu/gpureceiver/internal/record"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// multiplying is what the recorded H200 reported while it multiplied matrices.
const multiplying = `
[gpu 0]
util.gpu = 99
util.memory = steps(0:24, 1:25)
memory.used = 1290600448
bar1.used = 1292369920
temperature = 58
temperature.memory = 45
tlimit.margin = 23
power.average = 693.34
power.instant = 728.502
power.memory = 72.626
energy = 5951.614
clock.graphics = 1515
clock.video = 1530
reasons = 4
violation.power = 2.248614976
violation.low_util = 40.004961216
pcie.naks.sent = 17
pcie.recoveries = 675
gpm.graphics = 99.65434804649531
gpm.sm = 96.2878200351365
gpm.tensor = 93.41536150272589
gpm.integer = 1.3562103162854196
gpm.dram = 17.440545016774014
gpm.occupancy = 14.22971448111342
[process matmul]
gpu = 0
pid = 558
memory = 1281359872
sm = 99
mem = 24
`

// The simulated H200 is the recorded one: each point that the collector sends of it has the recorded attributes and value, and there are no others.
func TestRecordedH200(t *testing.T) {
	lib := simulator(t)
	path, err := nvmlsim.ScenarioFile("h200")
	require.NoError(t, err)
	board, err := os.ReadFile(path)
	require.NoError(t, err)
	control := nvmlsim.Use(t, "time = manual\n"+string(board)+multiplying)
	closed(t, lib)
	now, sys := simEpoch, t.TempDir()
	pciGPU(t, sys, "0000:00:06.0", "nvidia")
	require.NoError(t, os.Remove(filepath.Join(sys, "bus/pci/devices/0000:00:06.0/numa_node")))
	cfg := allMetrics()
	settings := nvml.DefaultConfig()
	settings.LibraryPath = lib.Full
	source := nvml.New(&settings, record.Wanted(&cfg.Metrics, new(metadata.EventsConfig), false),
		nvml.WithClock(func() time.Time { return now }), nvml.WithSysRoot(sys), nvml.WithProcRoot(t.TempDir()), nvml.WithInterval(time.Second))
	t.Cleanup(func() { require.NoError(t, source.Close()) })
	s := newStage(t, "nvml", source, cfg)
	s.record()
	now = now.Add(time.Second)
	require.NoError(t, control.Set("now = 1s"))

	want, got := recordedPoints(t), points(s.record())
	assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
	for point, value := range want {
		assert.InDelta(t, value, got[point], 1e-9*max(1, value), point)
	}
}

// ofEveryPoint are attributes that identify the device and the machine.
var ofEveryPoint = []string{"hw.id", "hw.name", "hw.model", "hw.vendor", "host.name", "k8s.cluster.name", "k8s.node.name"}

// recordedPoints returns the recorded values by metric, kind, unit and attributes.
func recordedPoints(t *testing.T) map[string]float64 {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "testdata", "recordings", "h200-580.159.04", "metrics.tsv"))
	require.NoError(t, err)
	got := map[string]float64{}
	for line := range strings.Lines(string(content)) {
		if point, value, ok := cutLast(strings.TrimSuffix(line, "\n"), "\t"); ok && !strings.HasPrefix(line, "#") {
			got[point], err = strconv.ParseFloat(value, 64)
			require.NoError(t, err)
		}
	}
	return got
}

func cutLast(s, separator string) (before, after string, ok bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

// points returns the values of metrics, as recordedPoints does.
func points(metrics pmetric.Metrics) map[string]float64 {
	got := map[string]float64{}
	for _, rm := range metrics.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				var kind string
				var points pmetric.NumberDataPointSlice
				switch {
				case m.Type() == pmetric.MetricTypeGauge:
					kind, points = "gauge", m.Gauge().DataPoints()
				case m.Sum().IsMonotonic():
					kind, points = "counter", m.Sum().DataPoints()
				default:
					kind, points = "updowncounter", m.Sum().DataPoints()
				}
				for _, p := range points.All() {
					value := p.DoubleValue()
					if p.ValueType() == pmetric.NumberDataPointValueTypeInt {
						value = float64(p.IntValue())
					}
					got[strings.Join([]string{m.Name(), kind, m.Unit(), attributes(p.Attributes())}, "\t")] = value
				}
			}
		}
	}
	return got
}

func attributes(values pcommon.Map) string {
	var all []string
	for key, value := range values.All() {
		if !slices.Contains(ofEveryPoint, key) {
			all = append(all, fmt.Sprintf("%s=%s", key, value.AsString()))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
