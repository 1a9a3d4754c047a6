// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"math"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The history has each metric of the list, in its unit, with what each read said.
func TestHistory(t *testing.T) {
	f, w := newTestFleet(Settings{})
	m := newMachine("a", 1, 0)
	d := &m.Devices[0]
	d.Fans = []gpu.Fan{{Location: "fan0", Ratio: gpu.Some(0.5)}, {Location: "fan1", Ratio: gpu.Some(0.75)}}
	d.Temperature[gpu.SensorHotspot] = gpu.Some(77.0)
	d.Clocks[gpu.ClockGraphics].Speed, d.Clocks[gpu.ClockMemory].Speed = gpu.Some(1.5e9), gpu.Some(2.5e9)
	for i := range int64(2) {
		d.PCIe.Transmitted, d.PCIe.Received = gpu.Total(1000+i*600), gpu.Total(500+i*300)
		d.Interconnect.Transmitted, d.Interconnect.Received = gpu.Total(1000+i*6000), gpu.Total(500+i*3000)
		f.ConsumeMetrics(m.read(w.now))
		w.pass(period)
	}
	want := map[string]struct {
		unit  string
		value float64
	}{
		"hw.gpu.utilization": {"1", 0.5}, "hw.gpu.utilization.encoder": {"1", 0.5}, "hw.gpu.utilization.decoder": {"1", 0.5},
		"hw.gpu.memory.controller.utilization": {"1", 0.41}, "hw.gpu.memory.usage": {"By", 8 << 30}, "hw.gpu.memory.utilization": {"1", 0.1},
		"hw.temperature": {"Cel", 77}, "hw.temperature.memory": {"Cel", 60}, "hw.power": {"W", 612.25}, "hw.gpu.speed": {"Hz", 1.5e9},
		"hw.gpu.speed.memory": {"Hz", 2.5e9}, "hw.fan.speed_ratio": {"1", 0.75}, "hw.gpu.io": {"By/s", 30}, "hw.gpu.interconnect.io": {"By/s", 300},
	}
	assert.True(t, slices.IsSorted(f.HistoryMetrics()))
	assert.Len(t, f.HistoryMetrics(), len(want))
	for _, metric := range f.HistoryMetrics() {
		history, ok := f.History("GPU-a-0", metric, time.Time{})
		require.True(t, ok)
		assert.Equal(t, "GPU-a-0", history.ID)
		assert.Equal(t, metric, history.Metric)
		assert.Equal(t, want[metric].unit, history.Unit)
		require.Len(t, history.Points, 2, metric)
		assert.Equal(t, start, history.Points[0].Time.UTC())
		require.NotNil(t, history.Points[1].Value, metric)
		assert.InEpsilon(t, want[metric].value, *history.Points[1].Value, 1e-6, metric)
		if history.Unit == "1" {
			assert.Equal(t, want[metric].value, *history.Points[1].Value, "with its own digits alone") //nolint:testifylint // exact
		}
		if history.Unit == "By/s" {
			assert.Nil(t, history.Points[0].Value, "a rate needs two reads")
		}
		since, _ := f.History("GPU-a-0", metric, start)
		assert.Equal(t, history.Points[1:], since.Points)
	}
	_, ok := f.History("GPU-a-0", "unknown", time.Time{})
	assert.False(t, ok)
	_, ok = f.History("unknown", "hw.power", time.Time{})
	assert.False(t, ok)
}

// A value that was not read is null. A metric that a GPU never had has no points. A counter that starts again produces no negative rate.
func TestHistoryGaps(t *testing.T) {
	f, w := newTestFleet(Settings{HistoryPoints: 2000})
	m := newMachine("a", 1, 0)
	for _, watts := range []gpu.Opt[float64]{gpu.Some(1.0), {}, gpu.Some(3.0)} {
		m.Devices[0].Power.Draw = watts
		f.ConsumeMetrics(m.read(w.now))
		w.pass(period)
		m.Devices[0].Interconnect.Transmitted = gpu.Total[int64](0)
	}
	assert.Equal(t, []string{"1", "-", "3"}, values(t, f, "hw.power"))
	assert.Equal(t, []string{"-", "-", "0"}, values(t, f, "hw.gpu.interconnect.io"))
	assert.Empty(t, values(t, f, "hw.gpu.io"))

	w.pass(10 * time.Minute)
	f.ConsumeMetrics(m.read(w.now))
	assert.Equal(t, []string{"1", "-", "3", "-", "3"}, values(t, f, "hw.power"), "nobody sent it")
}

func values(t *testing.T, f *Fleet, metric string) []string {
	t.Helper()
	history, ok := f.History("GPU-a-0", metric, time.Time{})
	require.True(t, ok)
	all := []string{}
	for i, p := range history.Points {
		if i > 0 {
			require.True(t, p.Time.After(history.Points[i-1].Time))
		}
		all = append(all, shown(p.Value))
	}
	return all
}

// However often a node is read, the points of a GPU are bounded, go back an hour, and are denser for new ones.
func TestHistoryIsThinned(t *testing.T) {
	for _, every := range []time.Duration{time.Second, 10 * time.Second, 30 * time.Second, time.Minute} {
		f, w := newTestFleet(Settings{})
		m := newMachine("a", 1, 0)
		message := m.read(w.now)
		for range int(80 * time.Minute / every) {
			w.pass(every)
			f.ConsumeMetrics(messageAt(message, w.now))
		}
		past := f.pasts.byID["GPU-a-0"]
		assert.LessOrEqual(t, cap(past.rows), 50, every)
		assert.LessOrEqual(t, uintptr(cap(past.rows))*unsafe.Sizeof(row{})+unsafe.Sizeof(history{}), uintptr(64<<20)/8000, "64 MiB for 8,000 GPUs")
		history, ok := f.History("GPU-a-0", "hw.power", time.Time{})
		require.True(t, ok)
		points := history.Points
		assert.GreaterOrEqual(t, len(points), 28, every)
		assert.Equal(t, w.now, points[len(points)-1].Time.UTC())
		assert.LessOrEqual(t, w.now.Sub(points[0].Time), time.Hour)
		assert.Greater(t, w.now.Sub(points[0].Time), 56*time.Minute)
		for i, p := range points {
			require.NotNil(t, p.Value, every)
			assert.Equal(t, []float64{612.25, 612.25, 612.25}, []float64{*p.Min, *p.Value, *p.Max})
			if i > 0 && w.now.Sub(points[i-1].Time) < time.Hour/8 {
				assert.LessOrEqual(t, p.Time.Sub(points[i-1].Time), max(2*every, 40*time.Second))
			}
		}
		w.pass(time.Hour + time.Second)
		f.sweep()
		_, ok = f.History("GPU-a-0", "hw.power", time.Time{})
		assert.False(t, ok)
	}
}

// A GPU that is busy for 6 s of every 20 s, read each 2 s, looks like that at every age: each point is one reading, or says how far the
// values in it reach.
func TestHistoryOfASquareWave(t *testing.T) {
	for _, settings := range []Settings{{}, {HistoryFor: 15 * time.Minute}, {HistoryPoints: 2000}} {
		f, w := newTestFleet(settings)
		m := newMachine("a", 1, 0)
		for i := range int(65 * time.Minute / (2 * time.Second)) {
			m.Devices[0].Utilization[gpu.TaskGeneral] = gpu.Some(0.0)
			if i%10 < 3 {
				m.Devices[0].Utilization[gpu.TaskGeneral] = gpu.Some(0.97)
			}
			f.ConsumeMetrics(m.read(w.now))
			w.pass(2 * time.Second)
		}
		history, _ := f.History("GPU-a-0", "hw.gpu.utilization", time.Time{})
		busy := 0.0
		for i, p := range history.Points[1 : len(history.Points)-1] {
			length := history.Points[i+2].Time.Sub(p.Time)
			busy += *p.Value * length.Seconds()
			assert.LessOrEqual(t, *p.Min, *p.Value)
			assert.GreaterOrEqual(t, *p.Max, *p.Value)
			assert.LessOrEqual(t, *p.Max, 0.98)
			if length >= 20*time.Second {
				assert.Zero(t, *p.Min)
				assert.GreaterOrEqual(t, *p.Max, 0.97)
			}
		}
		whole := history.Points[len(history.Points)-1].Time.Sub(history.Points[1].Time)
		assert.InDelta(t, 0.3*0.97, busy/whole.Seconds(), 0.02)
	}
}

func TestCoarse(t *testing.T) {
	for _, v := range []float32{0, 1, 0.97, 0.005, 1e-30, 612.25, 1.98e9, 1 << 40, -12.3, -40} {
		assert.LessOrEqual(t, below(v).value(), v)
		assert.GreaterOrEqual(t, above(v).value(), v)
		assert.InDelta(t, v, below(v).value(), math.Abs(float64(v))/127)
		assert.InDelta(t, v, above(v).value(), math.Abs(float64(v))/127)
	}
	assert.InDelta(t, 1, above(1).value(), 0, "a share is never above 1")
}

// A GPU that is lost keeps its past.
func TestHistoryOfALostGPU(t *testing.T) {
	f, w := newTestFleet(Settings{})
	m := newMachine("a", 1, 0)
	f.ConsumeMetrics(m.read(w.now))
	w.pass(period)
	m.Devices[0] = gpu.Device{ID: "GPU-a-0", Vendor: gpu.NVIDIA, Faults: []gpu.Fault{{Type: gpu.FaultLost}}}
	f.ConsumeMetrics(m.read(w.now))
	assert.Equal(t, "failed", *onlyNode(t, f).GPUs[0].Status)
	assert.Equal(t, []string{"612.25", "-"}, values(t, f, "hw.power"))
}
