// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// A total that the receiver keeps starts again once after the clock was set back to a time before its start. It does not start again at each
// read until the clock reaches the old start, nor when it does: a backend would count the total again with each start.
func TestStoredTotalClockSetBack(t *testing.T) {
	r := newRecorder(everything())
	for _, read := range []struct{ now, start int }{{0, 0}, {30, 0}, {-7200, -7200}, {-7170, -7200}, {-7140, -7200}, {60, -7200}} {
		device := gpu.Device{ID: "a", XIDs: []gpu.XIDCount{{XID: 79, Count: gpu.TotalSince[int64](3, timeAt(0))}}}
		assert.Equal(t, map[string]time.Time{"a hw.gpu.xids": timeAt(read.start)}, starting(r, timeAt(read.now), device), "at %d s", read.now)
	}
}

// A total that the receiver keeps can start during a read, which is after the time of the read.
func TestKeptTotalThatBeginsDuringTheRead(t *testing.T) {
	r := newRecorder(everything())
	device := gpu.Device{ID: "a", XIDs: []gpu.XIDCount{{XID: 79, Count: gpu.TotalSince[int64](1, timeAt(1))}}}
	want := map[string]time.Time{"a hw.gpu.xids": timeAt(0)}
	assert.Equal(t, want, starting(r, timeAt(0), device))
	assert.Equal(t, want, starting(r, timeAt(30), device))
}

// A machine whose clock was ahead when the collector started, until the first answer of a time server: gauges also have a start time.
func TestNoPointStartsAfterItEnds(t *testing.T) {
	whole := func(points []otlptest.Point) {
		assert.NotEmpty(t, points)
		for _, p := range points {
			assert.LessOrEqual(t, p.Start, p.Time, p.Metric)
		}
	}
	r := newRecorder(everything())
	for _, now := range []time.Time{timeAt(0), timeAt(-7200), timeAt(-3600), timeAt(-10800)} {
		node := fullNode()
		node.Time = now
		whole(otlptest.Points(r.Record(node)))
	}

	c := NewCluster(everything(), newSettings(), "kubernetes_cluster", "prod")
	whole(otlptest.Points(c.Record(&gpu.Cluster{
		Nodes:    []gpu.NodeResource{{Node: "n1", Resource: "nvidia.com/gpu", Capacity: gpu.Some[int64](8)}},
		Requests: []gpu.ContainerRequest{{Pod: "p1", Container: "main", Resource: "nvidia.com/gpu", Count: 1}},
		Pending:  []gpu.PendingPods{{Resource: "nvidia.com/gpu", Pods: 1}},
	}, time.Now().Add(-time.Hour), nil)))
}
