// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// watched runs a source that is polled for events all the time.
func watched(t *testing.T, scenario string) (*bench, chan gpu.Event) {
	t.Helper()
	b := start(t, scenario)
	b.watch.period = time.Millisecond
	received := make(chan gpu.Event, 10)
	b.Watch(func(events []gpu.Event) {
		for _, e := range events {
			received <- e
		}
	})
	return b, received
}

// An XID is handed on without a read, once, and the next read counts it.
func TestXIDBetweenReads(t *testing.T) {
	b, ok := watched(t, "gpus = 2")
	id := gpuAt(t, b.read(), 1).ID
	b.set("[event a]\ngpu = 1\nxid = 48")
	select {
	case e := <-ok:
		assert.Equal(t, gpu.EventXID, e.Type)
		assert.Equal(t, id, e.DeviceID)
		assert.EqualValues(t, 48, e.XID)
	case <-time.After(time.Minute):
		t.Fatal("no event")
	}
	n := b.read()
	assert.Empty(t, n.Events, "it was handed on")
	total := int64(0)
	for _, x := range gpuAt(t, n, 1).XIDs {
		if x.XID == 48 {
			total, _ = x.Count.Get()
		}
	}
	assert.EqualValues(t, 1, total)
	assert.Empty(t, ok)
}

// The driver is polled once more at the end: for an XID since the last poll, and for XIDs that an interrupted read has left.
func TestLastEvents(t *testing.T) {
	b, ok := watched(t, "gpus = 2")
	b.mu.Lock()
	b.watch.period = time.Hour
	b.mu.Unlock()
	id := gpuAt(t, b.read(), 1).ID
	assert.Empty(t, b.LastEvents())

	var last []gpu.Event
	b.set("[event a]\ngpu = 1\nxid = 48")
	b.await(func() bool { last = append(last, b.LastEvents()...); return len(last) > 0 })
	require.Len(t, last, 1)
	assert.Equal(t, id, last[0].DeviceID)
	assert.EqualValues(t, 48, last[0].XID)
	assert.Empty(t, b.LastEvents(), "each is handed on once")

	b.set("[event b]\ngpu = 1\nxid = 79")
	b.await(func() bool { b.fetchSamples(); return b.queued() == 1 })
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Read(interrupted)
	require.ErrorIs(t, err, context.Canceled)
	last = b.LastEvents()
	require.Len(t, last, 1)
	assert.EqualValues(t, 79, last[0].XID)
	b.mu.Lock()
	assert.Nil(t, b.watch.timer)
	b.mu.Unlock()

	require.NoError(t, b.Close())
	assert.Empty(t, b.LastEvents())
	assert.Empty(t, ok)
}

// A driver that does not answer delays the end no longer than a read.
func TestLastEventsOfADriverThatHangs(t *testing.T) {
	b, _ := watched(t, "gpus = 2")
	b.watch.period = time.Hour
	b.read()
	b.setPatience(0) // the question is given up as usual
	b.set("[fault f]\nfunction = nvmlEventSetWait\nhang = true")
	hung := b.hung(1)
	b.await(func() bool { b.LastEvents(); return hung() })
	assert.Empty(t, b.LastEvents())
}

// A driver that does not answer the question for events delays no read.
func TestQuestionForEventsHangs(t *testing.T) {
	b, ok := watched(t, "gpus = 2")
	b.read()
	b.setPatience(0) // the question is given up as usual
	b.set("[fault f]\nfunction = nvmlEventSetWait\nhang = true")
	b.await(b.hung(1))
	for range 5 {
		healthy(t, b.read(), 2)
	}
	b.unhang("")
	b.read()
	b.set("[event a]\ngpu = 1\nxid = 48")
	select {
	case e := <-ok:
		assert.EqualValues(t, 48, e.XID)
	case <-time.After(time.Minute):
		t.Fatal("no event after the driver answers again")
	}
}

// The driver is not polled after Close, or if events are not wanted.
func TestWatchEnds(t *testing.T) {
	b, _ := watched(t, "gpus = 1")
	var calls atomic.Int64
	b.read()
	require.NoError(t, b.Close())
	b.mu.Lock()
	assert.Nil(t, b.watch.timer)
	b.mu.Unlock()
	b.Watch(func([]gpu.Event) { calls.Add(1) })
	b.pollEvents()
	assert.Zero(t, calls.Load())

	quiet := start(t, "gpus = 1")
	quiet.read()
	quiet.mu.Lock()
	defer quiet.mu.Unlock()
	assert.Nil(t, quiet.watch.timer)
}
