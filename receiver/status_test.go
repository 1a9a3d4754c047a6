// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// statusHost records the component status that is reported.
type statusHost struct {
	component.Host
	mu     sync.Mutex
	events []*componentstatus.Event
}

func (h *statusHost) Report(e *componentstatus.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

func (h *statusHost) statuses() []*componentstatus.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*componentstatus.Event(nil), h.events...)
}

// If only a restart can help, the component reports this once, and its recovery once, on every pipeline.
func TestRestartNeeded(t *testing.T) {
	replaced := errors.New("the library was replaced")
	source := &fakeSource{next: func(_ context.Context, read int) (*gpu.Node, error) {
		node := nodeOf(healthy("GPU-1"))
		if read >= 3 && read < 6 {
			node.RestartNeeded = replaced
		}
		return node, nil
	}}
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	ofMetrics, ofLogs := &statusHost{Host: r.host}, &statusHost{Host: r.host}
	m, l := r.newMetrics(), r.newLogs()
	require.NoError(t, l.Start(t.Context(), ofLogs))
	require.NoError(t, m.Start(t.Context(), ofMetrics))
	eventually(t, func() bool { return source.reads.Load() > 10 }, "it runs")
	require.NoError(t, m.Shutdown(t.Context()))
	require.NoError(t, l.Shutdown(t.Context()))
	for _, host := range []*statusHost{ofMetrics, ofLogs} {
		events := host.statuses()
		require.Len(t, events, 2)
		assert.Equal(t, componentstatus.StatusRecoverableError, events[0].Status())
		require.ErrorIs(t, events[0].Err(), replaced)
		assert.Equal(t, componentstatus.StatusOK, events[1].Status())
	}
}

// A healthy scraper does not hide that another is unhealthy, and a pipeline that starts later receives the status.
func TestRestartNeededByOneOfTwo(t *testing.T) {
	var s componentStatus
	early, late := &statusHost{}, &statusHost{}
	s.reportTo(early)
	s.update("nvml", errors.New("a"))
	s.update("amdgpu", nil)
	s.update("amdgpu", errors.New("b"))
	s.update("nvml", nil)
	s.reportTo(late)
	require.Len(t, early.statuses(), 1)
	require.Len(t, late.statuses(), 1)
	assert.Equal(t, componentstatus.StatusRecoverableError, late.statuses()[0].Status())
	s.update("amdgpu", nil)
	require.Len(t, early.statuses(), 2)
	require.Len(t, late.statuses(), 2)
	assert.Equal(t, componentstatus.StatusOK, early.statuses()[1].Status())
}
