// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

func TestMessage(t *testing.T) {
	fleet := Fleet{Nodes: 2, GPUs: 8, Processes: 64, Clusters: 2}
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for number, agent := range fleet.All() {
		m := agent.Metrics(start)
		assert.Empty(t, otlptest.Violations(m))
		points := otlptest.Points(m)
		devices := map[any]bool{}
		for _, p := range otlptest.Of(points, "hw.gpu.info") {
			devices[p.Attributes["hw.id"]] = true
			assert.Equal(t, Name(number), p.Attributes["k8s.node.name"])
			assert.Equal(t, fleet.Cluster(number), p.Attributes["k8s.cluster.name"])
		}
		assert.Len(t, devices, 8)
		assert.True(t, devices[ID(number, 7)])
		assert.Len(t, otlptest.Of(points, "process.gpu.memory.usage"), 64)
		assert.Len(t, otlptest.Of(points, "container.gpu.allocated"), 8)
		t.Logf("%d points", m.DataPointCount())

		later := agent.Metrics(start.Add(30 * time.Second))
		assert.Equal(t, m.DataPointCount(), later.DataPointCount())
	}
}
