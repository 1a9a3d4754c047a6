// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"sync"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// maxEvents bounds the events that wait for a logs pipeline which does not take them; the oldest are dropped first.
const maxEvents = 1024

// eventQueue holds events for the logs pipeline. Taking them never waits for a read that hangs.
type eventQueue struct {
	mu      sync.Mutex
	waiting []gpu.Event
}

func (q *eventQueue) add(events ...gpu.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, events...)
	if excess := len(q.waiting) - maxEvents; excess > 0 {
		q.waiting = append(q.waiting[:0], q.waiting[excess:]...)
	}
}

func (q *eventQueue) take() []gpu.Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	events := q.waiting
	q.waiting = nil
	return events
}
