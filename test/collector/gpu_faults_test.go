// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// keysOf returns the keys of a GPU's points. The series of process utilization are left out, since they come and go with the driver's
// samples.
func keysOf(points harness.Points, id string) []string {
	var keys []string
	for _, p := range points {
		if p.Attributes["hw.id"] == id && p.Metric != "process.gpu.utilization" {
			keys = append(keys, p.Key())
		}
	}
	return keys
}

// requireOneBad requires that one of eight GPUs has failed for the given reason, and that the others are complete.
func requireOneBad(t *testing.T, before, after harness.Points, bad int, fault string) {
	t.Helper()
	require.Equal(t, []string{fault}, after.Select("hw.gpu.fault").Distinct("error.type"))
	for i := range 8 {
		state := "ok"
		if i == bad {
			state = "failed"
		}
		for _, s := range []string{"ok", "degraded", "failed", "predicted_failure"} {
			value, ok := after.Value("hw.status", "hw.id", gpu(i), "hw.state", s)
			require.True(t, ok, "GPU %d has a state %s", i, s)
			want := 0.0
			if s == state {
				want = 1
			}
			assert.InDelta(t, want, value, 0, "GPU %d: %s", i, s)
		}
		reason, ok := after.Value("hw.gpu.fault", "hw.id", gpu(i), "error.type", fault)
		if i != bad {
			assert.False(t, ok, "GPU %d has no fault", i)
			assert.ElementsMatch(t, keysOf(before, gpu(i)), keysOf(after, gpu(i)), "GPU %d is whole", i)
			continue
		}
		assert.True(t, ok)
		assert.InDelta(t, 1, reason, 0)
		assert.Empty(t, after.Select("hw.power", "hw.id", gpu(i)), "nothing is shown that was not read")
		assert.NotEmpty(t, after.Select("hw.status", "hw.id", gpu(i), "hw.name", fmt.Sprintf("nvidia%d", i)), "it keeps its name")
	}
	visible, _ := after.Value("hw.gpu.count", "hw.gpu.presence", "visible")
	missing, _ := after.Value("hw.gpu.count", "hw.gpu.presence", "missing")
	assert.InDelta(t, 8, visible+missing, 0, "it is still counted")
}

func hasFault(fault string) func(harness.Points) bool {
	return func(points harness.Points) bool {
		return slices.ContainsFunc(points.Select("hw.gpu.fault", "error.type", fault), func(p harness.Point) bool { return p.Value == 1 })
	}
}

// onlyFault accepts the points of a node on which a GPU has a fault and all other GPUs are read completely: reads on a busy machine may be
// late.
func onlyFault(before harness.Points, bad int, fault string) func(harness.Points) bool {
	return func(points harness.Points) bool {
		for i := range 8 {
			if i != bad && len(keysOf(points, gpu(i))) < len(keysOf(before, gpu(i))) {
				return false
			}
		}
		return hasFault(fault)(points) && len(points.Select("hw.power")) == 7
	}
}

// A GPU falls off the bus while the collector runs. It comes back after a reset.
func TestLostGPU(t *testing.T) {
	t.Parallel()
	n := start(t, spec{})
	before := n.next("eight GPUs", full(8))
	n.set("[fault f]\ngpu = 3\nkind = lost")
	after := n.next("the lost GPU", onlyFault(before, 3, "lost"))
	requireOneBad(t, before, after, 3, "lost")

	t.Run("in Prometheus", func(t *testing.T) {
		eventually(t, patience, "GPU 3 is failed, and what it last drew is gone", func() bool {
			failed := false
			for _, s := range n.metrics() {
				if s.Labels["hw_id"] != gpu(3) {
					continue
				}
				if s.Name == "hw_power_watts" {
					return false
				}
				failed = failed || s.Name == "hw_status" && s.Labels["hw_state"] == "failed" && s.Value == 1
			}
			return failed
		})
	})
	t.Run("as an event", func(t *testing.T) {
		eventually(t, patience, "an event", func() bool {
			return slices.ContainsFunc(n.sink.Events(), func(event plog.LogRecord) bool {
				return event.EventName() == "hw.gpu.status" && text(event, "hw.id") == gpu(3) && text(event, "hw.state") == "failed"
			})
		})
	})

	n.set("")
	n.next("eight GPUs again", full(8))
	n.interrupt()
}

// Calls on a GPU never return. The others are read in the same scrape, calls do not accumulate, and the collector ends in time.
func TestHungGPU(t *testing.T) {
	t.Parallel()
	n := start(t, spec{interval: patient})
	before := n.next("eight GPUs", full(8))
	n.set("[fault f]\ngpu = 5\nhang = true")
	after := n.next("the hung GPU", onlyFault(before, 5, "hung"))
	requireOneBad(t, before, after, 5, "hung")

	const warmUp, more, slack = 4, 8, 4
	n.scrapes(warmUp)
	threads, err := harness.Threads(n.process.PID())
	require.NoError(t, err)
	n.scrapes(more)
	later, err := harness.Threads(n.process.PID())
	require.NoError(t, err)
	assert.LessOrEqual(t, later, threads+slack, "no thread is added for each scrape of a GPU that hangs")
	assert.LessOrEqual(t, len(n.process.Complaints()), 2, "late and then hung, each said once")
	n.interrupt()
}

// A GPU that hangs for a while is read again once it answers.
func TestHungGPURecovers(t *testing.T) {
	t.Parallel()
	n := start(t, spec{})
	n.next("eight GPUs", full(8))
	n.set("[fault f]\ngpu = 0\nhang = true")
	n.next("the hung GPU", hasFault("hung"))
	n.set("")
	n.next("eight GPUs again", full(8))
	n.interrupt()
}

// The whole driver hangs, in its very first call.
func TestHungDriver(t *testing.T) {
	t.Parallel()
	n := prepare(t, spec{})
	require.NoError(t, n.control.Write("[fault f]\nfunction = nvmlDeviceGetCount\nhang = true"))
	n.run(spec{})
	eventually(t, patience, "a line of the log", func() bool { return len(n.process.Complaints()) > 0 })
	assert.Len(t, n.process.Complaints(), 1)
	n.interrupt()
}

// Two GPUs are already faulty when the collector starts: the others are complete, the faulty ones are counted, and all are read once they
// have recovered.
func TestBadAtStart(t *testing.T) {
	t.Parallel()
	s := spec{scenario: "gpus = 8\n[gpu *]\nboard = h100\n[fault a]\ngpu = 2\nkind = lost\nat_start = true\n[fault b]\ngpu = 4\nkind = reset\nat_start = true"}
	n := start(t, s)
	n.next("six GPUs", func(p harness.Points) bool {
		visible, _ := p.Value("hw.gpu.count", "hw.gpu.presence", "visible")
		missing, _ := p.Value("hw.gpu.count", "hw.gpu.presence", "missing")
		return len(p.Select("hw.power")) == 6 && visible == 6 && missing == 2
	})
	n.set("[fault a]\npresent = false\n[fault b]\npresent = false")
	points := n.next("eight GPUs", full(8))
	for i := range 8 {
		assert.NotEmpty(t, points.Select("hw.power", "hw.id", gpu(i), "hw.name", fmt.Sprintf("nvidia%d", i)))
	}
	n.interrupt()
}

// A refused function affects only its own metric, and is explained once.
func TestRefusedFunction(t *testing.T) {
	t.Parallel()
	n := start(t, spec{interval: patient})
	before := n.next("eight GPUs", full(8))
	n.set("[fault f]\ngpu = 1\nfunction = nvmlDeviceGetTotalEnergyConsumption\nreturn = NO_PERMISSION\n[fault g]\ngpu = 1\nfield = 83\nreturn = NO_PERMISSION")
	after := n.next("a GPU without energy", func(p harness.Points) bool { return len(p.Select("hw.energy")) == 7 })
	assert.Empty(t, after.Select("hw.energy", "hw.id", gpu(1)))
	assert.Len(t, keysOf(after, gpu(1)), len(keysOf(before, gpu(1)))-1)
	for i := range 8 {
		if i != 1 {
			assert.ElementsMatch(t, keysOf(before, gpu(i)), keysOf(after, gpu(i)))
		}
	}
	n.scrapes(4)
	require.Len(t, n.process.Complaints(), 1)
	line := n.process.Complaints()[0]
	assert.Contains(t, line, gpu(1))
	assert.Contains(t, line, "energy")
	assert.Contains(t, line, "permi")
	n.interrupt()
}
