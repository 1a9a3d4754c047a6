// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// TestNamesThatComeLate: a container and a process that were first seen without their names do not become second ones. The series without
// names end with the read that has the names.
func TestNamesThatComeLate(t *testing.T) {
	p, _, _ := newPipeline(nil)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	read := func(c gpu.Container) (live, ended []otlptest.Point) {
		start = start.Add(30 * time.Second)
		node := nodeOf(healthy("GPU-1"))
		node.Time = start
		node.Processes = []gpu.Process{{PID: 41, DeviceID: "GPU-1", Created: start.Truncate(time.Hour), Memory: gpu.Some[int64](1), Container: &c}}
		node.Containers = []gpu.ContainerUse{{Container: &c, DeviceID: "GPU-1", MemoryUsage: gpu.Some[int64](1)}}
		p.Take(t.Context(), node)
		metrics := p.Metrics(node)
		return otlptest.Points(metrics), otlptest.Ended(metrics)
	}
	unnamed := gpu.Container{ID: "c1", PodUID: "u1"}
	named := gpu.Container{ID: "c1", PodUID: "u1", Name: "main", Namespace: "ml", PodName: "train-0"}
	pods := func(points []otlptest.Point, metric string) (names []any) {
		for _, point := range otlptest.Of(points, metric) {
			names = append(names, point.Resource["k8s.pod.name"])
		}
		return names
	}

	live, ended := read(unnamed)
	assert.Empty(t, ended)
	assert.Equal(t, []any{nil}, pods(live, "container.gpu.memory.usage"))
	live, ended = read(named)
	for _, metric := range []string{"container.gpu.memory.usage", "process.gpu.memory.usage", "process.gpu.info"} {
		assert.Equal(t, []any{"train-0"}, pods(live, metric), metric)
		assert.Equal(t, []any{nil}, pods(ended, metric), metric)
	}
	_, ended = read(named)
	assert.Empty(t, ended, "it ends once")
}
