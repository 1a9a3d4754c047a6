// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// maxEvents bounds the events that wait for a logs pipeline which does not take them; the oldest are dropped first.
const maxEvents = 1024

// eventQueue completes events and holds them for the logs pipeline. Taking them never waits for a read that hangs.
type eventQueue struct {
	found   chan struct{}    // see Pipeline.Found; nil if no sender waits for it
	dropped func(events int) // called, with the queue locked, when the oldest were dropped; may be nil

	mu         sync.Mutex
	containers lastContainers
	repeats    xidRepeats
	flaps      statusFlaps
	sequence   eventSequence
	waiting    []gpu.Event
	timer      *time.Timer // ends sums; nil if there are no sums to end
	timerEnds  time.Time
}

// addRead adds what a read has found: whether the source can be read, the source's own events, and the changes since the read before.
func (q *eventQueue) addRead(node *gpu.Node, source []gpu.Event, changes ...[]gpu.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range source {
		q.add(e, deviceContainers{})
	}
	last := q.containers
	q.containers = last.next(node)
	for _, events := range append([][]gpu.Event{node.Events}, changes...) {
		for _, e := range events {
			// It happened between the two reads.
			around := last.get(e.DeviceID)
			around.add(q.containers.get(e.DeviceID))
			q.add(e, around)
		}
	}
	q.signal()
}

// addFound adds events that the source has found between reads.
func (q *eventQueue) addFound(events []gpu.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range events {
		q.add(e, q.containers.get(e.DeviceID))
	}
	q.signal()
}

// signal tells the sender that events may wait. It does not block.
func (q *eventQueue) signal() {
	select {
	case q.found <- struct{}{}:
	default: // an earlier signal is still there: the sender will take all events that wait
	}
}

func (q *eventQueue) add(e gpu.Event, last deviceContainers) {
	if ofDevice(e.Type) {
		e.Holders, e.Users = last.holders, last.users
	}
	now := time.Now()
	q.push(q.endedSums(now))
	if key, summed := keyOf(&e); summed {
		q.push(q.repeats.next(key, e, now))
	} else {
		due := []gpu.Event{e}
		if e.Type == gpu.EventStatus {
			due = q.flaps.next(e, now)
		}
		for _, e := range due { // each after the sums of its GPU, which started earlier
			q.push(append(q.repeats.release(gpuOf(&e), now), e))
		}
	}
	q.startTimer(now)
}

// ofDevice reports whether events of a type are about a device as such: then its holders and users matter.
func ofDevice(t gpu.EventType) bool {
	switch t {
	case gpu.EventProcessStarted, gpu.EventProcessExited, gpu.EventSourceFailed, gpu.EventSourceRecovered, gpu.EventSwitchError:
		return false
	default:
		return true
	}
}

// push queues events.
func (q *eventQueue) push(events []gpu.Event) {
	for _, e := range events {
		if e.UID == "" {
			e.UID = uuid.Must(uuid.NewV7()).String()
		}
		q.sequence.add(&e)
		q.waiting = append(q.waiting, e)
	}
	if excess := len(q.waiting) - maxEvents; excess > 0 {
		q.waiting = slices.Delete(q.waiting, 0, excess)
		if q.dropped != nil {
			q.dropped(excess)
		}
	}
}

// endedSums returns the sums whose period has ended.
func (q *eventQueue) endedSums(now time.Time) []gpu.Event {
	return append(q.repeats.ended(now), q.flaps.ended(now)...)
}

// startTimer starts the timer that ends the next sum.
func (q *eventQueue) startTimer(now time.Time) {
	end := q.repeats.nextEnd()
	if flap := q.flaps.nextEnd(); end.IsZero() || !flap.IsZero() && flap.Before(end) {
		end = flap
	}
	if q.found == nil || end.IsZero() || q.timer != nil && !end.Before(q.timerEnds) {
		return
	}
	if q.timer != nil {
		q.timer.Stop()
	}
	q.timer, q.timerEnds = time.AfterFunc(end.Sub(now), q.endSums), end
}

// endSums queues the sums whose period has ended.
func (q *eventQueue) endSums() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	ended := q.endedSums(now)
	q.push(ended)
	q.timer = nil
	q.startTimer(now)
	if len(ended) > 0 {
		q.signal()
	}
}

func (q *eventQueue) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// take takes what waits.
func (q *eventQueue) take() []gpu.Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.push(q.endedSums(time.Now()))
	return q.drain()
}

// takeWithOpen takes what waits, and returns the sums as they are now, which go on.
func (q *eventQueue) takeWithOpen() (events, open []gpu.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.push(q.endedSums(time.Now()))
	open = append(q.repeats.open(), q.flaps.open()...)
	for i := range open {
		open[i].UID = uuid.Must(uuid.NewV7()).String()
	}
	return q.drain(), open
}

// takeLast takes what waits, and the sums as they are.
func (q *eventQueue) takeLast() []gpu.Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.push(q.repeats.all())
	q.push(q.flaps.all())
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
	return q.drain()
}

func (q *eventQueue) drain() []gpu.Event {
	events := q.waiting
	q.waiting = nil
	return events
}
