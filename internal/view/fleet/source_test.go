// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// A node without GPUs is there, and none is invented.
func TestNodeWithoutGPUs(t *testing.T) {
	f, w := newTestFleet(Settings{})
	f.ConsumeMetrics(newMachine("a", 0, 0).read(w.now))
	node := onlyNode(t, f)
	assert.Empty(t, node.GPUs)
	assert.NotNil(t, node.GPUs)
	assert.Equal(t, 0, *node.GPUCount)
	assert.True(t, *node.Readable)
	assert.Nil(t, node.Memory.Total)
}

// A node that cannot be read keeps what is known of its GPUs, says why, and fails none.
func TestUnreadableNode(t *testing.T) {
	f, w := newTestFleet(Settings{})
	m := newMachine("a", 1, 1)
	f.ConsumeMetrics(m.read(w.now))
	w.pass(period)
	unread := gpu.Device{ID: "GPU-a-0", Vendor: gpu.NVIDIA, Model: m.Devices[0].Model, Name: "nvidia0", Unread: true}
	m.Failure, m.Devices, m.Processes, m.Containers = &gpu.Failure{Reason: gpu.FailureTimeout}, []gpu.Device{unread}, nil, nil
	m.Presence = [gpu.NumPresences]gpu.Opt[int64]{}
	f.ConsumeMetrics(m.read(w.now))
	node := onlyNode(t, f)
	assert.False(t, *node.Readable)
	require.Len(t, node.Sources, 1)
	vendor := "NVIDIA"
	assert.Equal(t, view.Source{Name: "nvml", Vendor: &vendor, Reasons: []string{"timeout"}}, node.Sources[0])
	require.Len(t, node.GPUs, 1)
	assert.Nil(t, node.GPUs[0].Status)
	assert.Nil(t, node.GPUs[0].Power.Watts)
	assert.Empty(t, node.GPUs[0].Processes)
	assert.Nil(t, node.GPUCount)
}

// The source of a cluster is not a node.
func TestCluster(t *testing.T) {
	f, w := newTestFleet(Settings{})
	message := pmetric.NewMetrics()
	rm := message.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("k8s.cluster.name", "east")
	metrics := rm.ScopeMetrics().AppendEmpty().Metrics()
	add := func(name string, value int64, attributes map[string]any) {
		metric := metrics.AppendEmpty()
		metric.SetName(name)
		p := metric.SetEmptySum().DataPoints().AppendEmpty()
		p.SetIntValue(value)
		p.SetTimestamp(timestamp(w.now))
		require.NoError(t, p.Attributes().FromRaw(attributes))
	}
	add("hw.gpu.source.readable", 0, map[string]any{"hw.gpu.source.name": "kubernetes_exec"})
	add("hw.gpu.source.failure", 1, map[string]any{"hw.gpu.source.name": "kubernetes_exec", "error.type": "api_unreachable"})
	add("hw.gpu.source.failure", 0, map[string]any{"hw.gpu.source.name": "kubernetes_exec", "error.type": "timeout"})
	add("k8s.cluster.gpu.pod.pending", 3, map[string]any{"k8s.resource.name": "nvidia.com/gpu"})
	add("k8s.node.gpu.capacity", 8, map[string]any{"k8s.node.name": "n", "k8s.resource.name": "nvidia.com/gpu"})
	f.ConsumeMetrics(message)

	s := f.Snapshot()
	assert.Empty(t, s.Nodes)
	no, begin := false, view.Begin{Time: w.now}
	assert.Equal(t, []view.Cluster{{
		Name: "east", Readable: &no, LastSeen: w.now,
		Sources: []view.Source{{Name: "kubernetes_exec", Reasons: []string{"api_unreachable"}}},
		Begins:  map[string]view.Begin{"unreadable\x00\x00kubernetes_exec\x00": begin},
	}}, s.Clusters)
	w.pass(10*time.Minute + time.Second)
	f.sweep()
	assert.Empty(t, f.Snapshot().Clusters)
}

// Points of other receivers make nothing, whatever they are called.
func TestForeignPoints(t *testing.T) {
	f, w := newTestFleet(Settings{})
	f.ConsumeMetrics(newMachine("a", 1, 1).read(w.now))
	before := f.Snapshot()
	message := pmetric.NewMetrics()
	rm := message.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("host.name", "other")
	metrics := rm.ScopeMetrics().AppendEmpty().Metrics()
	add := func(name string, attributes map[string]any) {
		metric := metrics.AppendEmpty()
		metric.SetName(name)
		p := metric.SetEmptyGauge().DataPoints().AppendEmpty()
		p.SetDoubleValue(1)
		p.SetTimestamp(timestamp(w.now.Add(time.Second)))
		require.NoError(t, p.Attributes().FromRaw(attributes))
	}
	add("system.cpu.time", map[string]any{"cpu": "cpu0"})
	add("hw.temperature", map[string]any{"hw.id": "board", "hw.type": "temperature"})
	add("hw.power", map[string]any{"hw.id": "GPU-a-0", "hw.type": "power_supply"})
	add("hw.power", map[string]any{"hw.id": "GPU-a-0", "hw.type": "gpu"}) // of another node
	add("hw.gpu.utilization", map[string]any{"hw.id": "unknown", "hw.gpu.task": "general"})
	add("hw.gpu.utilization", nil)
	add("process.gpu.memory.usage", map[string]any{"hw.id": "GPU-a-0", "process.pid": 1})
	add("hw.gpu.info", map[string]any{"hw.id": ""})
	histogram := metrics.AppendEmpty()
	histogram.SetName("hw.power")
	histogram.SetEmptyHistogram().DataPoints().AppendEmpty()
	f.ConsumeMetrics(message)
	assert.Equal(t, before.Nodes, f.Snapshot().Nodes)
	assert.Equal(t, before.Generation, f.Snapshot().Generation)
	assert.Equal(t, [drops]uint64{dropForeign: 1, dropInvalid: 1, dropUnknown: 4, dropDuplicate: 2}, f.state.dropped.counts)
}

// A point without a value that means something changes nothing.
func TestInvalidPoints(t *testing.T) {
	f, w := newTestFleet(Settings{})
	m := newMachine("a", 1, 0)
	f.ConsumeMetrics(m.read(w.now))
	before := f.Snapshot()
	for _, spoil := range []func(pmetric.NumberDataPoint){
		func(p pmetric.NumberDataPoint) { p.SetDoubleValue(nan) },
		func(p pmetric.NumberDataPoint) { p.SetDoubleValue(1e300) },
		func(p pmetric.NumberDataPoint) { p.SetTimestamp(0) },
		func(p pmetric.NumberDataPoint) { p.SetTimestamp(1 << 63) },
		func(p pmetric.NumberDataPoint) {
			empty := pmetric.NewNumberDataPoint()
			p.Attributes().CopyTo(empty.Attributes())
			empty.SetTimestamp(p.Timestamp())
			empty.CopyTo(p)
		},
	} {
		w.pass(time.Second)
		message := m.read(w.now)
		for _, rm := range message.ResourceMetrics().All() {
			for _, metric := range rm.ScopeMetrics().At(0).Metrics().All() {
				points, _ := numbers(metric)
				for _, p := range points.All() {
					spoil(p)
				}
			}
		}
		f.ConsumeMetrics(message)
		assert.Equal(t, before.Generation, f.Snapshot().Generation)
	}
}

var nan = ended

// What is beyond a limit is not shown, counted and logged once.
func TestLimits(t *testing.T) {
	f, w := newTestFleet(Settings{MaxNodes: 2, MaxGPUs: 3, MaxProcesses: 2})
	for i := range 4 {
		m := newMachine(string(rune('a'+i)), 2, 2)
		f.ConsumeMetrics(m.read(w.now))
		w.pass(time.Second)
		f.ConsumeMetrics(m.read(w.now))
	}
	s := f.Snapshot()
	require.Len(t, s.Nodes, 2)
	assert.Len(t, s.Nodes[0].GPUs, 2)
	assert.Len(t, s.Nodes[1].GPUs, 1)
	uses := 0
	for _, n := range s.Nodes {
		for _, g := range n.GPUs {
			uses += len(g.Processes) + len(g.Containers)
		}
	}
	assert.Equal(t, 4, uses)
	assert.Equal(t, uses, f.state.uses)
	for _, why := range []string{"node_limit", "gpu_limit", "use_limit"} {
		assert.Positive(t, f.Dropped()[why])
	}
}

// A node that is new takes the place of the one that has been silent longest. Nodes that send keep theirs.
func TestSilentNodesMakeRoom(t *testing.T) {
	f, w := newTestFleet(Settings{MaxNodes: 3})
	live := newMachine("live", 1, 1)
	for _, garbage := range []string{"g1", "g2"} {
		f.ConsumeMetrics(newMachine(garbage, 1, 1).read(w.now))
		f.ConsumeMetrics(live.read(w.now))
		w.pass(period)
	}
	for _, late := range []string{"a", "b"} {
		f.ConsumeMetrics(newMachine(late, 1, 1).read(w.now))
	}
	require.Equal(t, []string{"prod/g1 live GPU-g1-0", "prod/g2 live GPU-g2-0", "prod/live live GPU-live-0"}, nodeLines(f))
	require.Positive(t, f.Dropped()["node_limit"])

	for range 5 {
		w.pass(period)
		f.ConsumeMetrics(live.read(w.now))
		f.sweep()
	}
	before := f.Tiles(0, "").Generation
	f.ConsumeMetrics(newMachine("a", 1, 1).read(w.now))
	assert.Equal(t, []string{"prod/a live GPU-a-0", "prod/g2 live GPU-g2-0", "prod/live live GPU-live-0"}, nodeLines(f))
	assert.Equal(t, []string{"GPU-g1-0"}, f.Tiles(before, "").Gone)
	assert.Empty(t, violations(f))

	w.pass(period)
	both := live.read(w.now)
	newMachine("b", 1, 1).read(w.now).ResourceMetrics().MoveAndAppendTo(both.ResourceMetrics())
	newMachine("c", 1, 1).read(w.now).ResourceMetrics().MoveAndAppendTo(both.ResourceMetrics())
	f.ConsumeMetrics(both)
	assert.Equal(t, []string{"prod/a live GPU-a-0", "prod/b live GPU-b-0", "prod/live live GPU-live-0"}, nodeLines(f))
	assert.Empty(t, violations(f))
}

// Labels are bounded, in number and length.
func TestFieldLimit(t *testing.T) {
	f, w := newTestFleet(Settings{})
	f.ConsumeMetrics(newMachine("a", 1, 0).read(w.now))
	message := pmetric.NewMetrics()
	rm := message.ResourceMetrics().AppendEmpty()
	metric := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	metric.SetName("hw.gpu.fault")
	points := metric.SetEmptySum().DataPoints()
	for i := range 2 * maxFields {
		p := points.AppendEmpty()
		p.SetIntValue(1)
		p.SetTimestamp(timestamp(w.now.Add(time.Second)))
		p.Attributes().PutStr("hw.id", "GPU-a-0")
		p.Attributes().PutStr("error.type", pcommon.NewValueInt(int64(i)).AsString())
	}
	f.ConsumeMetrics(message)
	assert.Len(t, f.state.fields.keys, maxFields)
	assert.Positive(t, f.state.dropped.counts[dropFieldLimit])
	assert.LessOrEqual(t, len(onlyNode(t, f).GPUs[0].Faults), maxReadings)
}

// A value that its metric cannot have is not shown, and counted. The log names the first sender.
func TestImpossibleValues(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	f, w := newTestFleet(Settings{Logger: zap.New(core)})
	m := newMachine("a", 1, 1)
	m.Devices[0].Fans = []gpu.Fan{{Location: "fan0", Ratio: gpu.Some(0.5)}}
	f.ConsumeMetrics(m.read(w.now))
	before := f.Snapshot()
	dropped := uint64(0)
	for _, impossible := range []struct {
		metric string
		value  float64
	}{
		{"hw.gpu.utilization", 1.01},
		{"hw.gpu.utilization", -0.01},
		{"hw.gpu.memory.controller.utilization", 100},
		{"hw.fan.speed_ratio", 2},
		{"process.gpu.utilization", 55},
		{"container.gpu.utilization", -1},
		{"hw.status", 2},
		{"hw.gpu.memory.limit", -1},
		{"hw.gpu.memory.usage", 1e29},
		{"process.gpu.memory.usage", -1},
		{"container.gpu.memory.limit", 1e29},
		{"hw.gpu.count", -1},
		{"hw.gpu.count", 1e29},
		{"hw.errors", -1},
		{"hw.energy", 1e29},
		{"hw.gpu.interconnect.io", -1},
		{"hw.power", -1},
		{"hw.power.limit", 1e29},
		{"hw.temperature", -300},
		{"hw.gpu.speed", 1e29},
		{"hw.gpu.source.readable", 1e29},
		{"hw.gpu.info", -1},
		{"hw.power", math.Inf(1)},
		{"hw.temperature", nan},
	} {
		w.pass(time.Second)
		message, points := m.read(w.now), 0
		for _, rm := range message.ResourceMetrics().All() {
			rm.ScopeMetrics().At(0).Metrics().RemoveIf(func(metric pmetric.Metric) bool { return metric.Name() != impossible.metric })
			for _, metric := range rm.ScopeMetrics().At(0).Metrics().All() {
				values, _ := numbers(metric)
				for _, p := range values.All() {
					p.SetDoubleValue(impossible.value)
					points++
				}
			}
		}
		require.Positive(t, points, impossible.metric)
		f.ConsumeMetrics(message)
		dropped += uint64(points)
		assert.Equal(t, before.Generation, f.Snapshot().Generation, impossible)
		assert.Equal(t, dropped, f.Dropped()["invalid"], impossible)
	}
	assert.Equal(t, before.Nodes, f.Snapshot().Nodes)
	require.Equal(t, 1, logs.Len(), "it is logged once")
	logged := logs.All()[0].ContextMap()
	assert.Equal(t, "a", logged["node"])
	assert.Equal(t, "hw.gpu.utilization", logged["metric"])
}
