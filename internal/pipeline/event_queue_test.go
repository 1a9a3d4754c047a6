// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Events that are not taken are bounded: the oldest are dropped.
func TestEventQueueIsBounded(t *testing.T) {
	dropped := 0
	q := eventQueue{dropped: func(events int) { dropped += events }}
	for i := range maxEvents + 10 {
		q.addFound([]gpu.Event{{Type: gpu.EventProcessStarted, XID: int64(i)}})
	}
	assert.Equal(t, 10, dropped, "and counted")
	events := q.take()
	require.Len(t, events, maxEvents)
	assert.EqualValues(t, 10, events[0].XID)
	assert.EqualValues(t, maxEvents+9, events[maxEvents-1].XID)
	assert.Empty(t, q.take())
}

// The first events that are dropped are logged, once, and the others counted.
func TestDroppedEventsAreLoggedOnce(t *testing.T) {
	core, log := observer.New(zapcore.InfoLevel)
	dropped := 0
	p := New(Options{Logger: zap.New(core), Events: true, Where: " on node n1", EventsDropped: func(events int) { dropped += events }})
	for xid := range int64(2) {
		for i := range maxEvents + 10 {
			p.AddEvents([]gpu.Event{{Type: gpu.EventXID, DeviceID: "GPU-" + strconv.Itoa(i), XID: xid}})
		}
		assert.Len(t, p.TakeEvents(), maxEvents)
	}
	assert.Equal(t, 20, dropped)
	assert.Len(t, log.FilterMessage("Events dropped on node n1").All(), 1)
	assert.Equal(t, 1, log.Len())
}

// Events that the source has no room for are counted with those that the queue drops, and logged once.
func TestEventsThatTheSourceDrops(t *testing.T) {
	core, logged := observer.New(zap.WarnLevel)
	dropped := 0
	p := New(Options{Logger: zap.New(core), Events: true, Where: " on node n1", EventsDropped: func(events int) { dropped += events }})
	for range 3 {
		p.Take(t.Context(), &gpu.Node{EventsDropped: 2})
	}
	p.Take(t.Context(), &gpu.Node{})
	assert.Equal(t, 6, dropped)
	assert.Equal(t, 1, logged.FilterMessage("Events of the driver dropped on node n1").Len())
}
