// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
)

// A problem has its begin while it is there, and its end after it. A silent node ends none.
func TestProblemsBeginAndEnd(t *testing.T) {
	f, w := newTestFleet(Settings{})
	m := newMachine("a", 2, 1)
	hot := func(yes bool) {
		m.Devices[0].Throttle[gpu.ThrottleHWThermal].Active = gpu.Some(yes)
		f.ConsumeMetrics(m.read(w.now))
	}
	found := func() []view.Finding {
		s := f.Snapshot()
		return query.Findings(s, query.Scope{}, s.Nodes)
	}
	m.Devices[1].Faults = []gpu.Fault{{Type: gpu.FaultDrain}}
	hot(false)
	require.Len(t, found(), 1)
	assert.Equal(t, "gpu_degraded", found()[0].Kind)
	assert.Equal(t, start, found()[0].Begin.UTC())
	assert.False(t, found()[0].BeginKnown, "it was there before")
	assert.Equal(t, []string{"team/train"}, found()[0].Workloads)

	w.pass(period)
	begin := w.now
	hot(true)
	w.pass(period)
	hot(true)
	require.Len(t, found(), 2)
	throttled := found()[0]
	if throttled.Kind != "throttled" {
		throttled = found()[1]
	}
	assert.Equal(t, begin, throttled.Begin.UTC())
	assert.True(t, throttled.BeginKnown)
	assert.InDelta(t, period.Seconds(), *throttled.Age, 1e-9)
	assert.Empty(t, f.Ended())

	w.pass(time.Hour)
	f.sweep()
	assert.Empty(t, f.Ended(), "whether a silent node is throttled is not known")
	hot(true)
	require.Len(t, f.Ended(), 1)
	assert.Equal(t, "stale", f.Ended()[0].Kind)
	w.pass(period)
	hot(false)
	require.Len(t, f.Ended(), 2)
	last := f.Ended()[0]
	assert.Equal(t, "throttled", last.Kind)
	assert.Equal(t, begin, last.Begin.UTC())
	assert.Equal(t, w.now, last.End.UTC())
	assert.InDelta(t, w.now.Sub(begin).Seconds(), *last.Age, 1e-9)
	assert.Len(t, found(), 1)
}
