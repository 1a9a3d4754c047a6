// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"strings"
	"sync"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// maxEvents bounds what waits for a logs pipeline that does not take it; the oldest go first.
const maxEvents = 1024

// eventQueue is events on their way to the logs pipeline. Taking them never waits for a read that hangs.
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

// stateWatch notices when a device's state changes.
type stateWatch struct{ last map[string]gpu.State }

// changes returns an event for each device whose state is another than in the last node. A device that is seen for the
// first time is news only if it is not well.
func (w *stateWatch) changes(node *gpu.Node) []gpu.Event {
	var events []gpu.Event
	now := make(map[string]gpu.State, len(node.Devices))
	for i := range node.Devices {
		d := &node.Devices[i]
		state := d.State()
		now[d.ID] = state
		last, seen := w.last[d.ID]
		if seen && last == state || !seen && state == gpu.StateOK {
			continue
		}
		e := gpu.Event{
			Type: gpu.EventStatus, Time: node.Time, DeviceID: d.ID, Name: d.Name, Model: d.Model, Vendor: d.Vendor,
			State: state, Message: explainState(d),
		}
		if seen {
			e.Previous = gpu.Some(last)
		}
		events = append(events, e)
	}
	w.last = now
	return events
}

func explainState(d *gpu.Device) string {
	if len(d.Faults) == 0 {
		return "the GPU is well again"
	}
	messages := make([]string, 0, len(d.Faults))
	for _, f := range d.Faults {
		messages = append(messages, f.Message)
	}
	return strings.Join(messages, "; ")
}
