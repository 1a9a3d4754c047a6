// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// stateWatch notices when a device's state changes.
type stateWatch struct{ last map[string]gpu.State }

// changes returns an event for each device whose state is another than in the last node. A device that is seen for the
// first time is news only if it is not well.
func (w *stateWatch) changes(node *gpu.Node) []gpu.Event {
	if w.unchanged(node) {
		return nil
	}
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

// unchanged tells whether all is as it was, as it nearly always is.
func (w *stateWatch) unchanged(node *gpu.Node) bool {
	for i := range node.Devices {
		d := &node.Devices[i]
		if last, seen := w.last[d.ID]; !seen || last != d.State() {
			return false
		}
	}
	return len(node.Devices) == len(w.last)
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

// states says in the collector's own log what has become of the GPUs, in one line of all that have the same reason. The events
// say it too, but a collector need not have a logs pipeline.
func (l *problemLog) states(changes []gpu.Event) {
	type change struct {
		state  gpu.State
		reason string
	}
	var said []change
	for i := range changes {
		what := change{changes[i].State, changes[i].Message}
		if slices.Contains(said, what) {
			continue
		}
		said = append(said, what)
		var ids, names []string
		for j := range changes[i:] {
			if e := &changes[i+j]; e.State == what.state && e.Message == what.reason {
				ids, names = append(ids, e.DeviceID), append(names, e.Name)
			}
		}
		fields := []zap.Field{zap.Strings("hw.id", ids), zap.Strings("hw.name", names)}
		if what.state == gpu.StateOK {
			l.logger.Info("A GPU is well again", fields...)
			continue
		}
		l.logger.Warn("A GPU is not well; this is not said again while its state stays",
			append(fields, zap.String("hw.state", record.StateName(what.state)), zap.String("reason", what.reason))...)
	}
}
