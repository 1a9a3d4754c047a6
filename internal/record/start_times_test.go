// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// at is so many seconds after the first read.
func timeAt(seconds int) time.Time { return readAt.Add(time.Duration(seconds) * time.Second) }

// counters returns a device with two counters of the driver and one of the receiver.
func counters(id string, energy float64, errors int64) gpu.Device {
	return gpu.Device{
		ID: id, Energy: gpu.Total(energy),
		Errors: []gpu.ErrorCount{{Type: gpu.ErrorCorrected, Count: gpu.Total(errors)}},
		XIDs:   []gpu.XIDCount{{XID: 79, Count: gpu.TotalSince[int64](1, since)}},
	}
}

// starting records devices and returns when the series of a metric started, by device and error type.
func starting(r *Recorder, now time.Time, devices ...gpu.Device) map[string]time.Time {
	starts := map[string]time.Time{}
	for _, p := range otlptest.Points(r.Record(&gpu.Node{Time: now, Devices: devices})) {
		if p.Kind != "counter" {
			continue
		}
		name := p.Attributes["hw.id"].(string) + " " + p.Metric
		if kind, ok := p.Attributes["error.type"].(string); ok {
			name += " " + kind
		}
		starts[name] = p.Start.AsTime()
	}
	return starts
}

func TestFirstObservationStartsASeries(t *testing.T) {
	r := newRecorder(everything())
	want := map[string]time.Time{"a hw.energy": timeAt(0), "a hw.errors corrected": timeAt(0), "a hw.gpu.xids": since}
	assert.Equal(t, want, starting(r, timeAt(0), counters("a", 100, 5)))
	assert.Equal(t, want, starting(r, timeAt(30), counters("a", 150, 5)), "it goes on; a total that stands still does too")

	t.Run("after a restart of the collector", func(t *testing.T) {
		assert.Equal(t, map[string]time.Time{"a hw.energy": timeAt(60), "a hw.errors corrected": timeAt(60), "a hw.gpu.xids": since},
			starting(newRecorder(everything()), timeAt(60), counters("a", 200, 5)))
	})
	t.Run("of its own point", func(t *testing.T) {
		got := starting(r, timeAt(60), counters("a", 200, 6), counters("b", 10, 0))
		assert.Equal(t, map[string]time.Time{
			"a hw.energy": timeAt(0), "a hw.errors corrected": timeAt(0), "a hw.gpu.xids": since,
			"b hw.energy": timeAt(60), "b hw.errors corrected": timeAt(60), "b hw.gpu.xids": since,
		}, got)
	})
}

func TestFallingTotalRestartsTheSeries(t *testing.T) {
	r := newRecorder(everything())
	starting(r, timeAt(0), counters("a", 100, 5), counters("b", 100, 5))
	got := starting(r, timeAt(30), counters("a", 99.9, 6), counters("b", 101, 5))
	assert.Equal(t, map[string]time.Time{
		"a hw.energy": timeAt(30), "a hw.errors corrected": timeAt(0), "a hw.gpu.xids": since,
		"b hw.energy": timeAt(0), "b hw.errors corrected": timeAt(0), "b hw.gpu.xids": since,
	}, got, "only what fell")
	assert.Equal(t, timeAt(30), starting(r, timeAt(60), counters("a", 120, 6))["a hw.energy"], "from then on it goes on")
}

// If the source knows that counting started again, the series does too, even if the total has grown.
func TestNewEpochRestartsTheSeries(t *testing.T) {
	r := newRecorder(everything())
	starting(r, timeAt(0), counters("a", 100, 5))
	reloaded := counters("a", 200, 7)
	reloaded.Epoch = 1
	want := map[string]time.Time{"a hw.energy": timeAt(30), "a hw.errors corrected": timeAt(30), "a hw.gpu.xids": since}
	assert.Equal(t, want, starting(r, timeAt(30), reloaded))
	assert.Equal(t, want, starting(r, timeAt(60), reloaded), "once")
}

// Sources unwrap counters of 32 bits, so the recorder sees growing totals.
func TestUnwrappedTotalGoesOn(t *testing.T) {
	r := newRecorder(everything())
	device := func(total int64) gpu.Device {
		return gpu.Device{ID: "a", PCIe: gpu.PCIe{Transmitted: gpu.Total(total)}}
	}
	starting(r, timeAt(0), device(1<<32-10))
	assert.Equal(t, map[string]time.Time{"a hw.gpu.io": timeAt(0)}, starting(r, timeAt(30), device(1<<32+10)))
}

func TestSeriesAreForgottenAfterAnHour(t *testing.T) {
	r := newRecorder(everything())
	starting(r, timeAt(0), counters("a", 100, 5), counters("b", 100, 5), counters("c", 100, 5))
	got := starting(r, timeAt(3600), counters("a", 100, 5), counters("b", 100, 5))
	assert.Equal(t, timeAt(0), got["b hw.energy"], "an hour's absence is no reset")
	starting(r, timeAt(3600+1800), counters("a", 100, 5))
	got = starting(r, timeAt(3600+1801), counters("a", 100, 5), counters("b", 100, 5), counters("c", 100, 5))
	assert.Equal(t, timeAt(0), got["a hw.energy"])
	assert.Equal(t, timeAt(0), got["b hw.energy"], "nor is one read without it")
	assert.Equal(t, timeAt(3600+1801), got["c hw.energy"], "more than an hour's absence is, also before the next clearing up")

	starting(r, timeAt(4*3600), counters("a", 100, 5))
	starting(r, timeAt(5*3600+1), counters("a", 100, 5))
	for id := range r.starts.devices {
		assert.Equal(t, "a", id, "nothing is kept of the others")
	}
	assert.Len(t, r.starts.devices["a"], 3)
}

// A series that each read has is not forgotten, however rare the reads are.
func TestRareReads(t *testing.T) {
	r := newRecorder(everything())
	for hours := range 5 {
		got := starting(r, timeAt(hours*2*3600), counters("a", 100, 5))
		assert.Equal(t, timeAt(0), got["a hw.energy"], "after %d hours", hours*2)
	}
}

// After the clock was set back, no point ends before it starts.
func TestClockSetBack(t *testing.T) {
	r := newRecorder(everything())
	starting(r, timeAt(0), counters("a", 100, 5))
	assert.Equal(t, timeAt(-60), starting(r, timeAt(-60), counters("a", 110, 5))["a hw.energy"])
	assert.Equal(t, timeAt(-60), starting(r, timeAt(-30), counters("a", 120, 5))["a hw.energy"])
	assert.Equal(t, timeAt(-7200), starting(r, timeAt(-7200), counters("a", 130, 5))["a hw.gpu.xids"], "also for the totals of the receiver")
}

// Each series of a counter has its own start: when one total falls, only its own series starts again.
func TestEachCounterHasItsOwnStart(t *testing.T) {
	n := 0
	readings(fullNode(), func(path string, v reflect.Value) {
		if strings.HasPrefix(path, "Processes[") { // TestProcessTimesStartWithTheProcess
			return
		}
		if !zeroTotal(v) {
			return
		}
		n++
		r := newRecorder(everything())
		before := otlptest.BySeries(otlptest.Points(r.Record(fullNode())))
		node := fullNode()
		node.Time = timeAt(30)
		readings(node, func(other string, v reflect.Value) {
			if other == path {
				zeroTotal(v)
			}
		})
		var restarted []string
		for series, p := range otlptest.BySeries(otlptest.Points(r.Record(node))) {
			if p.Start != before[series].Start {
				restarted = append(restarted, series)
				assert.Equal(t, timeAt(30), p.Start.AsTime(), series)
				assert.Zero(t, p.Value, series)
			}
		}
		assert.Len(t, restarted, 1, "when %s fell", path)
	})
	assert.Greater(t, n, 40)
}

// zeroTotal sets a total of the driver to 0. It reports whether the value is one.
func zeroTotal(v reflect.Value) bool {
	switch counter := v.Addr().Interface().(type) {
	case *gpu.Counter[int64]:
		if counter.Since().IsZero() {
			*counter = gpu.Total[int64](0)
			return true
		}
	case *gpu.Counter[float64]:
		if counter.Since().IsZero() {
			*counter = gpu.Total(0.0)
			return true
		}
	}
	return false
}
