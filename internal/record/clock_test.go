// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube/cluster"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// A machine whose clock was ahead when the collector started, as until the first answer of a time server: what goes up and
// down has a start time as well.
func TestNoPointStartsAfterItEnds(t *testing.T) {
	whole := func(points []otlptest.Point) {
		assert.NotEmpty(t, points)
		for _, p := range points {
			assert.LessOrEqual(t, p.Start, p.Time, p.Metric)
		}
	}
	r := newRecorder(everything())
	for _, now := range []time.Time{at(0), at(-7200), at(-3600), at(-10800)} {
		node := fullNode()
		node.Time = now
		whole(otlptest.Points(r.Record(node)))
	}

	c := NewCluster(everything(), newSettings(), "prod")
	whole(otlptest.Points(c.Record(cluster.Snapshot{
		Nodes:    []cluster.NodeResource{{Node: "n1", Resource: "nvidia.com/gpu", Capacity: gpu.Some[int64](8)}},
		Requests: []cluster.Request{{Pod: "p1", Container: "main", Resource: "nvidia.com/gpu", Count: 1}},
		Pending:  []cluster.Pending{{Resource: "nvidia.com/gpu", Pods: 1}},
	}, time.Now().Add(-time.Hour))))
}
