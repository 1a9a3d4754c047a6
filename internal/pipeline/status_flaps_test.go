// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// becomes returns the change of a device's state now.
func becomes(device string, state, previous gpu.State) gpu.Event {
	return gpu.Event{Type: gpu.EventStatus, Time: time.Now(), DeviceID: device, State: state, Previous: gpu.Some(previous)}
}

// flap changes the state of a device n times, each after a minute, from ok to degraded and back.
func flap(q *eventQueue, device string, n int) {
	states := []gpu.State{gpu.StateDegraded, gpu.StateOK}
	for i := range n {
		time.Sleep(time.Minute)
		found(q, becomes(device, states[i%2], states[(i+1)%2]))
	}
}

// stateTexts describe changes of states: device, from, to, and of a sum the number.
func stateTexts(events []gpu.Event) []string {
	list := []string{}
	for _, e := range events {
		previous, _ := e.Previous.Get()
		text := fmt.Sprintf("%s %d>%d", e.DeviceID, previous, e.State)
		if e.Count > 0 {
			text += fmt.Sprintf(", %d in %v", e.Count, e.Time.Sub(e.First))
		}
		list = append(list, text)
	}
	return list
}

// The first four changes pass. Those after them are summed until ten minutes are over, which brings the sum without anybody asking.
func TestFlappingIsSummed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &eventQueue{found: make(chan struct{}, 1)}
		flap(q, "a", 4)
		assert.Equal(t, []string{"a 0>1", "a 1>0", "a 0>1", "a 1>0"}, stateTexts(q.take()))
		flap(q, "a", 5)
		found(q, becomes("b", gpu.StateDegraded, gpu.StateOK))
		assert.Equal(t, []string{"b 0>1"}, stateTexts(q.take()), "another device")
		assert.True(t, signalled(q.found))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		assert.True(t, signalled(q.found))
		assert.Equal(t, []string{"a 0>1, 5 in 4m0s"}, stateTexts(q.take()))
		found(q, becomes("a", gpu.StateOK, gpu.StateDegraded))
		assert.Empty(t, q.take(), "it still flaps")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"a 1>0, 1 in 0s"}, stateTexts(q.take()))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		assert.Empty(t, q.take())
		assert.Empty(t, q.flaps.watched, "a period without a change")
		assert.Nil(t, q.timer)
		found(q, becomes("a", gpu.StateDegraded, gpu.StateOK))
		assert.Equal(t, []string{"a 0>1"}, stateTexts(q.take()))
		q.takeLast()
	})
}

// A failure of a device is sent immediately, also while it flaps, together with the earlier changes in the sum.
func TestFailureIsNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &eventQueue{found: make(chan struct{}, 1)}
		flap(q, "a", 6)
		require.Len(t, q.take(), 4)
		found(q, becomes("a", gpu.StateFailed, gpu.StateOK))
		assert.Equal(t, []string{"a 0>0, 2 in 1m0s", "a 0>2"}, stateTexts(q.take()))
		found(q, becomes("a", gpu.StateOK, gpu.StateFailed), becomes("a", gpu.StateFailed, gpu.StateOK))
		events, open := q.takeWithOpen()
		assert.Empty(t, events, "once in a period")
		assert.Equal(t, []string{"a 2>2, 2 in 0s"}, stateTexts(open), "what is kept of the sum, which goes on")
		assert.Equal(t, []string{"a 2>2, 2 in 0s"}, stateTexts(q.takeLast()), "what is left at the end")
		assert.Nil(t, q.timer)
	})
}

// An XID is not held by a device that flaps, and its repeats end before the device's period.
func TestXIDsWhileADeviceFlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &eventQueue{found: make(chan struct{}, 1)}
		flap(q, "a", 5)
		require.Len(t, q.take(), 4)
		found(q, xidOn("a", 31), xidOn("a", 31))
		require.Len(t, q.take(), 1)
		require.True(t, signalled(q.found))
		start := time.Now()
		<-q.found
		assert.Equal(t, 10*time.Second, time.Since(start), "the timer of the period does not hold the repeats")
		require.Len(t, q.take(), 1)
		q.takeLast()
	})
}

// Each change is in exactly one event, and what is watched is bounded.
func TestFlapsLoseNothing(t *testing.T) {
	var f statusFlaps
	now := time.Now()
	changes := int64(0)
	count := func(events []gpu.Event) {
		for _, e := range events {
			changes += max(e.Count, 1)
		}
	}
	for i := range maxFlapping + 10 {
		for range 10 {
			count(f.next(becomes(strconv.Itoa(i), gpu.StateDegraded, gpu.StateOK), now))
		}
	}
	assert.Len(t, f.watched, maxFlapping)
	count(f.ended(now.Add(flapPeriod)))
	assert.EqualValues(t, 10*(maxFlapping+10), changes)
	assert.Len(t, f.watched, maxFlapping, "all flapped")
	assert.Empty(t, f.ended(now.Add(3*flapPeriod)))
	assert.Empty(t, f.watched)
}
