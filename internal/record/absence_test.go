// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// derived has, for a metric, the metrics that are absent without its value.
var derived = map[string][]string{
	"hw.gpu.interconnect.link.count": {"hw.gpu.interconnect.link.state"},
	"hw.gpu.interconnect.link.state": {"hw.gpu.interconnect.link.count"},

	"hw.gpu.memory.limit":       {"hw.gpu.memory.utilization"},
	"hw.gpu.memory.usage":       {"hw.gpu.memory.utilization"},
	"hw.gpu.memory.utilization": {"hw.gpu.memory.limit"},
	"hw.gpu.source.failure":     {"hw.gpu.source.readable"},
	"hw.gpu.source.readable":    {"hw.gpu.source.failure"},
}

// Each metric has one value: without it there is no point of the metric, and the other metrics do not change.
func TestAbsentValueMakesNoPoint(t *testing.T) {
	full := recordAll(fullNode())
	for _, m := range metricTests {
		t.Run(m.name, func(t *testing.T) {
			node := fullNode()
			m.remove(node)
			without := recordAll(node)
			assert.Empty(t, otlptest.Of(without, m.name))
			if len(node.Devices) == 0 || len(node.Processes) == 0 {
				return // everything of a device or a process is gone
			}
			missing := append([]string{m.name}, derived[m.name]...)
			want := slices.DeleteFunc(otlptest.Names(full), func(name string) bool { return slices.Contains(missing, name) })
			got := slices.DeleteFunc(otlptest.Names(without), func(name string) bool { return slices.Contains(missing, name) })
			assert.Equal(t, want, got, "the other metrics")
		})
	}
}

// notSent are values that make no point themselves. Sources report pages that wait for their retirement as a fault.
var notSent = regexp.MustCompile(`\.(Index|CurrentIndex|GPUInstance|ComputeInstance|Partition|NUMANode|UserID|RetiredPages\.Pending)$`)

// Without one value exactly its own points are absent, and no other point changes.
func TestEachValueAlone(t *testing.T) {
	full := values(recordAll(fullNode()))
	sums := regexp.MustCompile(`^hw\.gpu\.interconnect\.link\.count\{`) // of several values: TestLinkCount
	result := map[string]bool{}                                         // the series that some value makes
	var paths []string
	readings(fullNode(), func(path string, _ reflect.Value) { paths = append(paths, path) })
	require.Greater(t, len(paths), 150)
	for _, path := range paths {
		if notSent.MatchString(path) {
			continue
		}
		node := fullNode()
		readings(node, func(other string, v reflect.Value) {
			if other == path {
				v.SetZero()
			}
		})
		without := values(recordAll(node))
		assert.Less(t, len(without), len(full), "%s makes no point", path)
		for series, value := range full {
			if got, still := without[series]; !still {
				result[series] = true
			} else if got != value && !sums.MatchString(series) {
				t.Errorf("without %s, %s became %v, was %v", path, series, got, value)
			}
		}
	}
	health := regexp.MustCompile(`^hw\.(status|gpu\.(board\.)?info|gpu\.mode\.current|gpu\.fault|gpu\.allocated|gpu\.source\.[a-z]+)\{|^process\.gpu\.info\{`)
	for series := range full {
		if !result[series] && !health.MatchString(series) && !sums.MatchString(series) {
			t.Errorf("no value makes %s", series)
		}
	}
}

// A device without values has its identity and its status, and no other point.
func TestEmptyDevice(t *testing.T) {
	points := recordAll(&gpu.Node{
		Host: gpu.Host{Name: "node-a"}, Time: readAt, Devices: []gpu.Device{{ID: gpuID, Vendor: gpu.NVIDIA}},
	})
	assert.Equal(t, []string{"hw.gpu.info", "hw.status"}, otlptest.Names(points))
	assert.Len(t, points, 1+int(gpu.NumStates))
}

// A node without values produces no points, and neither do containers without values.
func TestEmptyNode(t *testing.T) {
	assert.Empty(t, recordAll(&gpu.Node{Time: readAt}))
	metrics := newRecorder(everything()).Record(&gpu.Node{
		Time:       readAt,
		Containers: []gpu.ContainerUse{{Container: &gpu.Container{ID: "c"}, DeviceID: gpuID}},
	})
	assert.Zero(t, metrics.ResourceMetrics().Len(), "a resource without points")
}

// A process without values has its identity, and no other point.
func TestEmptyProcess(t *testing.T) {
	points := recordAll(&gpu.Node{Time: readAt, Processes: []gpu.Process{{PID: 1, DeviceID: gpuID}}})
	require.Len(t, points, 1)
	assert.Equal(t, "process.gpu.info", points[0].Metric)
	assert.Equal(t, map[string]any{"hw.id": gpuID, "process.pid": int64(1)}, points[0].Attributes)
}

// A size of 0 has no fraction.
func TestNoMemoryUtilizationWithoutSize(t *testing.T) {
	points := recordAll(&gpu.Node{Time: readAt, Devices: []gpu.Device{{
		ID: gpuID, Memory: gpu.Memory{Limit: gpu.Some[int64](0), Usage: gpu.Some[int64](0)},
	}}})
	assert.Len(t, otlptest.Of(points, "hw.gpu.memory.limit"), 1)
	assert.Empty(t, otlptest.Of(points, "hw.gpu.memory.utilization"))
}

// What is not known has no attribute, not an empty one.
func TestNoEmptyAttribute(t *testing.T) {
	node := fullNode()
	node.Devices = append(node.Devices, gpu.Device{ID: "GPU-unknown"})
	node.Containers = append(node.Containers, gpu.ContainerUse{
		Container: &gpu.Container{ID: "cafe03"}, DeviceID: gpuID, Allocated: gpu.Some(true),
	})
	points := recordAll(node)
	require.NotEmpty(t, points)
	for _, p := range points {
		for _, attributes := range []map[string]any{p.Attributes, p.Resource} {
			for name, value := range attributes {
				assert.NotEmpty(t, fmt.Sprint(value), "%s of %s", name, p.Series())
			}
		}
	}
}

// Disabled metrics have no points, whether one or all are disabled.
func TestDisabledMetrics(t *testing.T) {
	all := otlptest.Names(recordAll(fullNode()))
	for _, metric := range all {
		cfg := everything()
		enableOne(t, &cfg.Metrics, metric, false)
		got := otlptest.Names(otlptest.Points(newRecorder(cfg).Record(fullNode())))
		assert.Equal(t, slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == metric }), got)
	}
	cfg := everything()
	enable(&cfg.Metrics, false)
	assert.Zero(t, newRecorder(cfg).Record(fullNode()).ResourceMetrics().Len())
}
