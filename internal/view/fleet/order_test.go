// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/view"
)

const period = 30 * time.Second

func clone(m pmetric.Metrics) pmetric.Metrics {
	c := pmetric.NewMetrics()
	m.CopyTo(c)
	return c
}

func powerOf(t *testing.T, f *Fleet) float64 {
	t.Helper()
	watts := onlyNode(t, f).GPUs[0].Power.Watts
	require.NotNil(t, watts)
	return *watts
}

// A message that comes late changes nothing, and does not bring back what has ended since.
func TestLateMessage(t *testing.T) {
	f, w := newTestFleet(Settings{})
	m := newMachine("a", 1, 2)
	f.ConsumeMetrics(m.read(w.now))

	second := w.now.Add(period)
	m.Devices[0].Power.Draw = gpu.Some(200.0)
	late := m.read(second)
	m.Devices[0].Power.Draw = gpu.Some(300.0)
	m.Processes = m.Processes[:1]
	third := m.read(second.Add(period))
	m.Devices[0].Errors = nil
	fourth := m.read(second.Add(2 * period))

	w.pass(3 * period)
	f.ConsumeMetrics(fourth)
	f.ConsumeMetrics(third)
	generation := f.Snapshot().Generation
	f.ConsumeMetrics(late)
	assert.InDelta(t, 300, powerOf(t, f), 0)
	g := onlyNode(t, f).GPUs[0]
	assert.Len(t, g.Processes, 1)
	assert.Empty(t, g.Errors)
	assert.Equal(t, generation, f.Snapshot().Generation)
}

// A process that is known from no message is not made up of a late one, after its end.
func TestLateMessageOfAnEndedProcess(t *testing.T) {
	f, w := newTestFleet(Settings{})
	m := newMachine("a", 1, 1)
	alone := m.Processes
	m.Processes = nil
	f.ConsumeMetrics(m.read(w.now))
	m.Processes = alone
	start := m.read(w.now.Add(period))
	m.Processes = nil
	ended := m.read(w.now.Add(2 * period))
	w.pass(2 * period)
	f.ConsumeMetrics(ended)
	f.ConsumeMetrics(start)
	assert.Empty(t, onlyNode(t, f).GPUs[0].Processes)
}

// A message that comes twice changes nothing the second time.
func TestRepeatedMessage(t *testing.T) {
	f, w := newTestFleet(Settings{})
	m := newMachine("a", 2, 2)
	message := m.read(w.now)
	f.ConsumeMetrics(message)
	once := f.Snapshot()
	f.ConsumeMetrics(message)
	twice := f.Snapshot()
	assert.Equal(t, once.Generation, twice.Generation)
	assert.Equal(t, once.Nodes, twice.Nodes)
	assert.Empty(t, f.Tiles(once.Generation, "").Tiles)
}

// Nothing that was handed out changes later.
func TestSnapshotsStayAsTheyAre(t *testing.T) {
	f, w := newTestFleet(Settings{})
	m := newMachine("a", 2, 2)
	f.ConsumeMetrics(m.read(w.now))
	snapshot := f.Snapshot()
	again, _ := newTestFleet(Settings{})
	again.ConsumeMetrics(newMachine("a", 2, 2).read(start))
	for i := range m.Devices {
		m.Devices[i].Power.Draw, m.Devices[i].Model = gpu.Some(1.0), "other"
		m.Devices[i].Errors = nil
	}
	m.Processes = m.Processes[:1]
	w.pass(period)
	f.ConsumeMetrics(m.read(w.now))
	w.pass(time.Hour)
	f.sweep()
	assert.Equal(t, again.Snapshot().Nodes, snapshot.Nodes)
}

// An ended series is no longer shown, immediately.
func TestEndedSeries(t *testing.T) {
	f, w := newTestFleet(Settings{})
	m := newMachine("a", 2, 2)
	f.ConsumeMetrics(m.read(w.now))
	w.pass(period)
	m.Processes, m.Containers, m.Devices = m.Processes[1:], m.Containers[1:], m.Devices[1:]
	m.Devices[0].Power.Draw = gpu.Opt[float64]{}
	before := f.Tiles(0, "").Generation
	f.ConsumeMetrics(m.read(w.now))
	node := onlyNode(t, f)
	require.Len(t, node.GPUs, 1)
	assert.Equal(t, "GPU-a-1", node.GPUs[0].ID)
	assert.Len(t, node.GPUs[0].Processes, 2)
	assert.Nil(t, node.GPUs[0].Power.Watts)
	assert.Equal(t, []string{"GPU-a-0"}, f.Tiles(before, "").Gone)

	w.pass(period)
	f.ConsumeMetrics(m.tracker.End(pmetric.NewMetrics(), timestamp(w.now))) // the node has left the cluster
	assert.Empty(t, f.Snapshot().Nodes)
	assert.Empty(t, f.Snapshot().Clusters)
	w.pass(4 * period)
	f.sweep()
	assert.Empty(t, f.state.nodes)
	assert.Empty(t, f.state.owners)
	assert.Zero(t, f.state.uses)
}

// What a killed collector sent last and its successor does not send goes after three intervals.
func TestEndWithoutRecord(t *testing.T) {
	f, w := newTestFleet(Settings{})
	for range 3 {
		f.ConsumeMetrics(newMachine("a", 2, 2).read(w.now))
		w.pass(period)
	}
	m := newMachine("a", 2, 2)
	m.Devices, m.Processes, m.Containers = m.Devices[:1], m.Processes[:1], m.Containers[:1]
	m.Devices[0].Power.Draw = gpu.Opt[float64]{}
	for range 3 {
		f.ConsumeMetrics(m.read(w.now))
		require.Len(t, onlyNode(t, f).GPUs, 2)
		require.NotNil(t, onlyNode(t, f).GPUs[0].Power.Watts)
		w.pass(period)
	}
	f.ConsumeMetrics(m.read(w.now))
	node := onlyNode(t, f)
	require.Len(t, node.GPUs, 1)
	assert.Len(t, node.GPUs[0].Processes, 1)
	assert.Nil(t, node.GPUs[0].Power.Watts)
}

// Deltas are added up, each once.
func TestDeltas(t *testing.T) {
	f, w := newTestFleet(Settings{})
	m := newMachine("a", 1, 0)
	f.ConsumeMetrics(delta(m.read(w.now), "hw.energy", 100))
	w.pass(period)
	message := delta(m.read(w.now), "hw.energy", 50)
	late := delta(m.read(w.now.Add(-period/2)), "hw.energy", 1000)
	f.ConsumeMetrics(clone(message))
	f.ConsumeMetrics(clone(message))
	f.ConsumeMetrics(late)
	w.pass(period)
	f.ConsumeMetrics(delta(m.read(w.now), "hw.energy", 0))
	assert.InDelta(t, 150, *onlyNode(t, f).GPUs[0].Power.Energy, 0)
}

// delta makes a metric of a message a delta of a value.
func delta(message pmetric.Metrics, name string, value float64) pmetric.Metrics {
	for _, rm := range message.ResourceMetrics().All() {
		for _, m := range rm.ScopeMetrics().At(0).Metrics().All() {
			if m.Name() == name {
				m.Sum().SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
				m.Sum().DataPoints().At(0).SetDoubleValue(value)
			}
		}
	}
	return message
}

// A node whose clock is wrong is shown as any other. Its history is in the time of this clock.
func TestWrongClock(t *testing.T) {
	for name, skew := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			f, w := newTestFleet(Settings{})
			m := newMachine("a", 1, 1)
			for range 4 {
				w.pass(period)
				f.ConsumeMetrics(m.read(w.now.Add(skew)))
				f.sweep()
			}
			node := onlyNode(t, f)
			assert.Equal(t, view.Live, node.State)
			assert.InDelta(t, 30, *node.Interval, 0)
			assert.Equal(t, w.now, node.LastSeen)
			history, ok := f.History("GPU-a-0", "hw.power", w.now.Add(-3*period))
			require.True(t, ok)
			require.Len(t, history.Points, 3)
			assert.Equal(t, w.now, history.Points[2].Time.UTC())
			assert.InDelta(t, 612.25, *history.Points[2].Value, 0)

			w.pass(3*period + time.Second)
			f.sweep()
			assert.Equal(t, view.Stale, onlyNode(t, f).State)
		})
	}
}

// A clock that is set while a node sends costs at most three intervals.
func TestClockIsSet(t *testing.T) {
	for name, skew := range map[string]time.Duration{"forward": time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			f, w := newTestFleet(Settings{})
			m := newMachine("a", 1, 1)
			for range 5 {
				w.pass(period)
				f.ConsumeMetrics(m.read(w.now))
			}
			m.Devices[0].Power.Draw = gpu.Some(1.0)
			for range 5 {
				w.pass(period)
				f.ConsumeMetrics(m.read(w.now.Add(skew)))
				f.sweep()
				require.Len(t, onlyNode(t, f).GPUs, 1)
				require.Len(t, onlyNode(t, f).GPUs[0].Processes, 1)
			}
			assert.Equal(t, view.Live, onlyNode(t, f).State)
			assert.InDelta(t, 1, powerOf(t, f), 0)
			assert.InDelta(t, 30, *onlyNode(t, f).Interval, 0)
		})
	}
}

// A clock that was ahead and is correct again costs nothing, no matter how long it was ahead.
func TestClockWasAhead(t *testing.T) {
	for _, messages := range []int{1, 5} {
		f, w := newTestFleet(Settings{})
		m := newMachine("a", 1, 1)
		f.ConsumeMetrics(m.read(w.now))
		for range messages {
			w.pass(period)
			f.ConsumeMetrics(m.read(w.now.Add(time.Hour)))
		}
		m.Devices[0].Power.Draw = gpu.Some(1.0)
		w.pass(period)
		f.ConsumeMetrics(m.read(w.now))
		assert.InDelta(t, 1, powerOf(t, f), 0)
		node := onlyNode(t, f)
		assert.Equal(t, w.now, node.LastSeen)
		assert.Equal(t, 1, *node.GPUCount)
		assert.Len(t, node.GPUs[0].Processes, 1)
		w.pass(period)
		f.ConsumeMetrics(m.read(w.now))
		assert.InDelta(t, 30, *onlyNode(t, f).Interval, 0, "the steps of the clock are no intervals")
	}
}

func timestamp(t time.Time) pcommon.Timestamp { return pcommon.NewTimestampFromTime(t) }
