// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// nodeLines returns a line for each node: its name, its state and its GPUs.
func nodeLines(f *Fleet) []string {
	var lines []string
	for _, n := range f.Snapshot().Nodes {
		words := []string{shown(n.Cluster) + "/" + n.Name, string(n.State)}
		for _, g := range n.GPUs {
			words = append(words, g.ID)
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// A node that gets another name: its GPUs are shown at the old name until that is stale, then at the new one, never at both.
func TestRenamedNode(t *testing.T) {
	f, w := newTestFleet(Settings{GoneAfter: 10 * time.Minute})
	m := newMachine("a", 1, 1)
	for range 3 {
		f.ConsumeMetrics(m.read(w.now))
		w.pass(period)
	}
	successor := newMachine("a", 1, 1)
	successor.Host.Name, successor.Host.NodeName = "b", "b"
	for range 3 {
		f.ConsumeMetrics(successor.read(w.now))
		f.sweep()
		require.Equal(t, []string{"prod/a live GPU-a-0", "prod/b live"}, nodeLines(f))
		require.Len(t, f.Tiles(0, "").Tiles, 1)
		w.pass(period)
	}
	before := f.Tiles(0, "").Generation
	f.ConsumeMetrics(successor.read(w.now))
	f.sweep()
	assert.Equal(t, []string{"prod/a stale", "prod/b live GPU-a-0"}, nodeLines(f))
	tiles := f.Tiles(before, "")
	require.Len(t, tiles.Tiles, 1)
	assert.Equal(t, "b", tiles.Tiles[0].Node)
	assert.Empty(t, tiles.Gone)
	history, _ := f.History("GPU-a-0", "hw.power", time.Time{})
	require.Len(t, history.Points, 5)
	assert.Nil(t, history.Points[3].Value, "nobody sent it for three intervals")

	w.pass(9 * time.Minute)
	f.ConsumeMetrics(successor.read(w.now))
	f.sweep()
	assert.Equal(t, []string{"prod/b live GPU-a-0"}, nodeLines(f))
}

// Two clusters on one machine, or a node that is read by an agent without Kubernetes and by an agentless collector, have the same GPUs.
func TestTwoNodesWithTheSameGPU(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	f, w := newTestFleet(Settings{Logger: zap.New(core)})
	one, other := newMachine("a", 1, 1), newMachine("a", 1, 1)
	other.Host.ClusterName = "lab"
	both := one.read(w.now)
	other.read(w.now).ResourceMetrics().MoveAndAppendTo(both.ResourceMetrics())
	f.ConsumeMetrics(both)
	w.pass(period)
	f.ConsumeMetrics(other.read(w.now))
	f.ConsumeMetrics(one.read(w.now))
	assert.Equal(t, []string{"lab/a live", "prod/a live GPU-a-0"}, nodeLines(f))
	require.Equal(t, 1, logs.Len(), "it is logged once")
	assert.Contains(t, logs.All()[0].Message, "Two nodes")
	assert.Positive(t, f.state.dropped.counts[dropDuplicate])

	// The first cluster no longer has the GPU.
	w.pass(period)
	one.Devices, one.Processes, one.Containers = nil, nil, nil
	f.ConsumeMetrics(one.read(w.now))
	assert.Equal(t, []string{"lab/a live", "prod/a live"}, nodeLines(f))
	f.ConsumeMetrics(other.read(w.now))
	assert.Equal(t, []string{"lab/a live GPU-a-0", "prod/a live"}, nodeLines(f))
}

// An agent and an agentless collector send the same node: each GPU, process and container is there once, as the newest message has it.
func TestTwoCollectors(t *testing.T) {
	f, w := newTestFleet(Settings{})
	agent, outside := newMachine("a", 2, 2), newMachine("a", 2, 2)
	outside.Host.Name, outside.Host.Labels, outside.Source = "", nil, "kubernetes_exec"
	for i := range outside.Containers {
		outside.Containers[i].Allocated = gpu.Opt[bool]{}
		outside.Devices[i].HoldersKnown = false
	}
	for range 4 {
		w.pass(period / 2)
		agent.Devices[0].Power.Draw = gpu.Some(100.0)
		f.ConsumeMetrics(agent.read(w.now))
		require.InDelta(t, 100, powerOf(t, f), 0)
		w.pass(period / 2)
		outside.Devices[0].Power.Draw = gpu.Some(200.0)
		f.ConsumeMetrics(outside.read(w.now))
		require.InDelta(t, 200, powerOf(t, f), 0)
	}
	node := onlyNode(t, f)
	assert.Equal(t, "a", *node.Host)
	assert.Equal(t, map[string]string{"zone": "a"}, node.Labels)
	assert.Equal(t, 2, *node.GPUCount)
	require.Len(t, node.Sources, 2)
	require.Len(t, node.GPUs, 2)
	for _, g := range node.GPUs {
		assert.Len(t, g.Processes, 2)
		require.Len(t, g.Containers, 1)
		assert.True(t, *g.Containers[0].Allocated)
		assert.Equal(t, 1, *g.Allocated)
	}

	// The agent cannot read, the agentless collector can.
	w.pass(period)
	agent.Failure, agent.Devices, agent.Processes, agent.Containers = &gpu.Failure{Reason: gpu.FailureDriver}, nil, nil, nil
	f.ConsumeMetrics(agent.read(w.now))
	assert.True(t, *onlyNode(t, f).Readable)
	w.pass(time.Second)
	f.ConsumeMetrics(outside.read(w.now))
	assert.Len(t, onlyNode(t, f).GPUs, 2)
}

// A collector whose clock is an hour ahead hides another one's messages of the same node only while it sends.
func TestTwoCollectorsOfDifferentClocks(t *testing.T) {
	f, w := newTestFleet(Settings{})
	right, ahead := newMachine("a", 1, 1), newMachine("a", 1, 1)
	right.Devices[0].Power.Draw, ahead.Devices[0].Power.Draw = gpu.Some(1.0), gpu.Some(2.0)
	for range 4 {
		w.pass(period)
		f.ConsumeMetrics(right.read(w.now))
		f.ConsumeMetrics(ahead.read(w.now.Add(time.Hour)))
	}
	assert.InDelta(t, 2, powerOf(t, f), 0)
	for range 5 {
		w.pass(period)
		f.ConsumeMetrics(right.read(w.now))
	}
	f.sweep()
	assert.InDelta(t, 1, powerOf(t, f), 0)
	assert.Equal(t, view.Live, onlyNode(t, f).State)
}

// If a pipeline dropped all resources, hw.gpu.info names the node of a GPU.
func TestWithoutResources(t *testing.T) {
	f, w := newTestFleet(Settings{})
	m := newMachine("a", 2, 1)
	for range 2 {
		message := m.read(w.now)
		for _, rm := range message.ResourceMetrics().All() {
			rm.Resource().Attributes().Clear()
		}
		f.ConsumeMetrics(message)
		w.pass(period)
	}
	node := onlyNode(t, f)
	assert.Equal(t, "a", node.Name)
	assert.Equal(t, "prod", *node.Cluster)
	require.Len(t, node.GPUs, 2)
	require.Len(t, node.GPUs[1].Processes, 1)
	require.Len(t, node.GPUs[1].Containers, 1)
	assert.Equal(t, "train-a", *node.GPUs[1].Containers[0].Pod)
	assert.NotNil(t, node.GPUs[1].Power.Watts)
}

// A message that a processor has split into parts makes the same as a whole one.
func TestSplitMessage(t *testing.T) {
	whole, w := newTestFleet(Settings{})
	split, _ := newTestFleet(Settings{})
	m := newMachine("a", 2, 2)
	for range 3 {
		message := m.read(w.now)
		whole.ConsumeMetrics(clone(message))
		for i := range message.ResourceMetrics().Len() {
			part := pmetric.NewMetrics()
			message.ResourceMetrics().At(i).CopyTo(part.ResourceMetrics().AppendEmpty())
			split.ConsumeMetrics(part)
		}
	}
	assert.Equal(t, whole.Snapshot().Nodes, split.Snapshot().Nodes)
}
