// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// only takes the only event that waits.
func only(t *testing.T, q *eventQueue) gpu.Event {
	t.Helper()
	events := q.take()
	require.Len(t, events, 1)
	return events[0]
}

// A memory error, the row that is remapped for it, the cleanup, and what the driver asks for: each refers to the last that it comes with.
func TestXIDsThatComeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &eventQueue{}
		next := func(device string, code int64) gpu.Event {
			found(q, xidOn(device, code))
			return only(t, q)
		}
		contained := next("a", 94)
		assert.Empty(t, contained.Follows)
		remapped := next("a", 63)
		assert.Equal(t, contained.UID, remapped.Follows)
		cleanup := next("a", 45)
		assert.NotEmpty(t, cleanup.Follows)
		assert.Equal(t, remapped.UID, next("a", 154).Follows, "not the cleanup, which NVIDIA does not link to it")
		assert.Empty(t, next("b", 154).Follows, "of another GPU")
		assert.Empty(t, next("a", 31).Follows, "NVIDIA does not document it")
		assert.Empty(t, next("a", 4711).Follows)
		time.Sleep(sequencePeriod + time.Second)
		assert.Empty(t, next("a", 64).Follows, "long ago")
	})
}

// What concerns a GPU concerns its partitions, and one partition does not concern another one.
func TestXIDsOfPartitionsThatComeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		event := func(device string, code int64) gpu.Event { e := xidOn(device, code); e.Parent = "a"; return e }
		q := &eventQueue{}
		found(q, event("m1", 31))
		fault := only(t, q)
		found(q, event("m2", 45))
		assert.Empty(t, only(t, q).Follows)
		found(q, event("m1", 45))
		assert.Equal(t, fault.UID, only(t, q).Follows)
		found(q, xidOn("a", 48))
		memory := only(t, q)
		found(q, event("m2", 63))
		assert.Equal(t, memory.UID, only(t, q).Follows)
	})
}

// A sum can be what another XID refers to, and refers to what came before its first XID.
func TestSumsThatComeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &eventQueue{}
		found(q, xidOn("a", 31))
		first := only(t, q)
		time.Sleep(time.Second)
		found(q, xidOn("a", 31))
		time.Sleep(time.Second)
		found(q, xidOn("a", 45))
		events := q.take()
		require.Len(t, events, 2)
		assert.Equal(t, events[0].UID, events[1].Follows, "the sum was brought first")
		found(q, xidOn("a", 45), xidOn("a", 45))
		last := q.takeLast()
		require.Len(t, last, 1)
		assert.Equal(t, events[0].UID, last[0].Follows)
		assert.NotEqual(t, first.UID, events[0].UID)
	})
}

// Every event has a uid, which sorts by time.
func TestUIDs(t *testing.T) {
	p, _, _ := newPipeline(nil)
	p.Take(t.Context(), nodeOf(healthy("GPU-1")))
	node := nodeOf(lost("GPU-1"))
	node.Events = []gpu.Event{xidOn("GPU-1", 79)}
	p.Take(t.Context(), node)
	p.Failed(gpu.Host{Name: "a"}, gpu.NVIDIA, time.Now(), assert.AnError)
	events := p.TakeEvents()
	require.Len(t, events, 3)
	last := ""
	for _, e := range events {
		id, err := uuid.Parse(e.UID)
		require.NoError(t, err)
		assert.Equal(t, uuid.Version(7), id.Version())
		assert.Greater(t, e.UID, last)
		last = e.UID
	}
}

// The memory of earlier XIDs is bounded.
func TestSequenceIsBounded(t *testing.T) {
	var s eventSequence
	for range maxSequence + 10 {
		e := xidOn("a", 31)
		s.add(&e)
	}
	assert.Len(t, s, maxSequence)
}

// A reset of an AMD GPU refers to the fault that it is to resolve, from its begin to its end, and a later one does not.
func TestResetAfterAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &eventQueue{}
		next := func(kind gpu.EventType, change func(*gpu.Event)) gpu.Event {
			e := gpu.Event{Type: kind, Time: time.Now(), DeviceID: "a", Vendor: gpu.AMD}
			if change != nil {
				change(&e)
			}
			found(q, e)
			return only(t, q)
		}
		reset := func(state gpu.ResetState) gpu.Event {
			return next(gpu.EventReset, func(e *gpu.Event) { e.Reset = state })
		}
		class := func(class gpu.ErrorClass) func(*gpu.Event) {
			return func(e *gpu.Event) { e.Class, e.Part = class, "umc" }
		}
		next(gpu.EventRASError, class(gpu.ClassCorrected))
		assert.Empty(t, reset(gpu.ResetStarted).Follows, "nobody resets a GPU because of what was corrected")
		reset(gpu.ResetSucceeded)

		timeout := next(gpu.EventRingTimeout, nil)
		assert.Empty(t, timeout.Follows)
		next(gpu.EventRingTimeout, func(e *gpu.Event) { e.Recovered = true })
		next(gpu.EventRingTimeout, func(e *gpu.Event) { e.DeviceID = "b" })
		assert.Equal(t, timeout.UID, reset(gpu.ResetStarted).Follows)
		assert.Equal(t, timeout.UID, reset(gpu.ResetFailed).Follows)
		assert.Equal(t, timeout.UID, reset(gpu.ResetSucceeded).Follows)
		assert.Empty(t, reset(gpu.ResetStarted).Follows, "that one is resolved")

		uncorrected := next(gpu.EventRASError, class(gpu.ClassUncorrected))
		assert.Equal(t, uncorrected.UID, reset(gpu.ResetSucceeded).Follows)
		poison := next(gpu.EventRASError, class(gpu.ClassPoison))
		assert.Equal(t, poison.UID, reset(gpu.ResetSucceeded).Follows)
		next(gpu.EventRingTimeout, nil)
		time.Sleep(sequencePeriod + time.Second)
		assert.Empty(t, reset(gpu.ResetStarted).Follows, "long ago")
	})
}
