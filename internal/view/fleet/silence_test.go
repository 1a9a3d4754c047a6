// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// A node that is silent is stale, with what was known last, and gone later.
func TestSilentNode(t *testing.T) {
	f := goldenFleet(t, filepath.Join("..", "..", "..", "testdata", "golden", "remote.yaml"))
	w := &watch{now: start}
	f.settings.Now = func() time.Time { return w.now }
	first := f.Tiles(0, "").Generation

	w.pass(3 * time.Minute) // the interval is not known yet
	f.sweep()
	assert.Equal(t, view.Live, onlyNode(t, f).State)

	w.pass(time.Second)
	f.sweep()
	stale := onlyNode(t, f)
	assert.Equal(t, view.Stale, stale.State)
	assert.Len(t, stale.GPUs, 2)
	assert.Equal(t, start, stale.LastSeen.UTC())
	tiles := f.Tiles(first, "")
	assert.False(t, tiles.Whole)
	assert.Len(t, tiles.Tiles, 2)
	assert.True(t, tiles.Tiles[0].Stale)

	w.pass(7*24*time.Hour - 3*time.Minute - time.Second)
	f.sweep()
	assert.Len(t, onlyNode(t, f).GPUs, 2, "a silent node stays with its last values")
	assert.NotNil(t, onlyNode(t, f).GPUs[0].Power.Watts)

	w.pass(time.Second)
	f.sweep()
	assert.Empty(t, f.Snapshot().Nodes)
	assert.Empty(t, f.Snapshot().Clusters)
	missing := f.Tiles(tiles.Generation, "")
	assert.Empty(t, missing.Tiles)
	assert.Equal(t, []string{"GPU-a", "GPU-b"}, missing.Gone)
	assert.Empty(t, f.state.owners)
	assert.Zero(t, f.state.uses)
}

// A silent node is gone as soon as its cluster no longer has it, and not before.
func TestRemovedNode(t *testing.T) {
	f, w := newTestFleet(Settings{})
	f.ConsumeMetrics(newMachine("a", 1, 1).read(w.now))
	f.ConsumeMetrics(newMachine("b", 1, 1).read(w.now))
	cluster := func(ended ...string) {
		message := pmetric.NewMetrics()
		rm := message.ResourceMetrics().AppendEmpty()
		rm.Resource().Attributes().PutStr("k8s.cluster.name", "prod")
		metric := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
		metric.SetName("k8s.node.gpu.capacity")
		points := metric.SetEmptySum().DataPoints()
		for _, one := range []struct{ node, resource string }{{"a", "nvidia.com/gpu"}, {"b", "nvidia.com/gpu"}, {"b", "nvidia.com/mig-1g.10gb"}} {
			p := points.AppendEmpty()
			p.SetTimestamp(timestamp(w.now))
			p.SetIntValue(1)
			p.Attributes().PutStr("k8s.node.name", one.node)
			p.Attributes().PutStr("k8s.cluster.name", "prod")
			p.Attributes().PutStr("k8s.resource.name", one.resource)
			if slices.Contains(ended, one.node+" "+one.resource) {
				p.SetFlags(pmetric.DefaultDataPointFlags.WithNoRecordedValue(true))
			}
		}
		f.ConsumeMetrics(message)
	}
	names := func() (all []string) {
		f.sweep()
		for _, n := range f.Snapshot().Nodes {
			all = append(all, n.Name)
		}
		return all
	}
	cluster("a nvidia.com/gpu", "b nvidia.com/gpu")
	assert.Equal(t, []string{"a", "b"}, names(), "a still sends")
	w.pass(4 * time.Minute)
	assert.Equal(t, []string{"b"}, names(), "the cluster has no node a any more; b offers another resource")
	cluster("b nvidia.com/gpu", "b nvidia.com/mig-1g.10gb")
	cluster()
	assert.Equal(t, []string{"b"}, names(), "it was added again")
	cluster("b nvidia.com/gpu", "b nvidia.com/mig-1g.10gb")
	assert.Empty(t, names())
}

// When a limit is reached, the node that has been silent longest makes room, and the log names it.
func TestSilentNodeMakesRoomForGPUsAndProcesses(t *testing.T) {
	for limit, settings := range map[string]Settings{"max_gpus": {MaxGPUs: 4}, "max_processes": {MaxProcesses: 4}} {
		t.Run(limit, func(t *testing.T) {
			core, logs := observer.New(zap.WarnLevel)
			settings.Logger = zap.New(core)
			f, w := newTestFleet(settings)
			f.ConsumeMetrics(newMachine("a", 2, 1).read(w.now))
			w.pass(time.Second)
			f.ConsumeMetrics(newMachine("b", 2, 1).read(w.now))
			w.pass(4 * time.Minute)
			f.sweep()
			f.ConsumeMetrics(newMachine("c", 2, 1).read(w.now))
			nodes := f.Snapshot().Nodes
			require.Len(t, nodes, 2)
			assert.Equal(t, []string{"b", "c"}, []string{nodes[0].Name, nodes[1].Name})
			assert.Len(t, nodes[1].GPUs, 2)
			require.Equal(t, 1, logs.Len())
			assert.Equal(t, "A silent node is no longer shown", logs.All()[0].Message)
			assert.Equal(t, "a", logs.All()[0].ContextMap()["node"])
			assert.Equal(t, "raise "+limit+" of the gpu_view exporter", logs.All()[0].ContextMap()["remedy"])
			assert.Empty(t, unbounded(f))
		})
	}
}
