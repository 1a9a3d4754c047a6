// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// processWatch notices when processes begin to use a device, and when they do not any more.
type processWatch struct {
	last map[processKey]*gpu.Process // nil before the first read
}

type processKey struct {
	device string
	pid    int64
}

// changes returns an event for each process that has come or gone since the last node. Those of the first node are no news,
// and where the processes of a device could not be read, nothing is known of them.
func (w *processWatch) changes(node *gpu.Node) []gpu.Event {
	if w == nil {
		return nil
	}
	devices := make(map[string]*gpu.Device, len(node.Devices))
	for i := range node.Devices {
		devices[node.Devices[i].ID] = &node.Devices[i]
	}
	now := make(map[processKey]*gpu.Process, len(node.Processes))
	var events []gpu.Event
	tell := func(kind gpu.EventType, p *gpu.Process, how string) {
		if w.last != nil {
			events = append(events, processEvent(kind, node, devices[p.DeviceID], p, how))
		}
	}
	for i := range node.Processes {
		p := &node.Processes[i]
		key := processKey{p.DeviceID, p.PID}
		if now[key] != nil {
			continue
		}
		before := w.last[key]
		switch {
		case before == nil:
			tell(gpu.EventProcessStarted, p, "uses the GPU")
		case reused(before, p):
			tell(gpu.EventProcessExited, before, "does not use the GPU any more")
			tell(gpu.EventProcessStarted, p, "uses the GPU")
		}
		kept := *p // the node is read anew
		if before != nil && !reused(before, p) && kept.Container == nil {
			kept.Container = before.Container
		}
		now[key] = &kept
	}
	gone := slices.SortedFunc(maps.Keys(w.last), func(a, b processKey) int {
		return cmp.Or(strings.Compare(a.device, b.device), cmp.Compare(a.pid, b.pid))
	})
	for _, key := range gone {
		if now[key] != nil {
			continue
		}
		if p := w.last[key]; !node.ProcessesKnown(devices[key.device]) {
			now[key] = p
		} else {
			tell(gpu.EventProcessExited, p, "does not use the GPU any more")
		}
	}
	w.last = now
	return events
}

// reused tells whether another process has got the id.
func reused(before, now *gpu.Process) bool {
	return !before.Created.IsZero() && !now.Created.IsZero() && !before.Created.Equal(now.Created)
}

func processEvent(kind gpu.EventType, node *gpu.Node, d *gpu.Device, p *gpu.Process, how string) gpu.Event {
	kept := *p
	e := gpu.Event{
		Type: kind, Time: node.Time, DeviceID: p.DeviceID, Vendor: node.Vendor, Process: &kept,
		Message: fmt.Sprintf("%s %s", cmp.Or(p.Executable, p.Command, fmt.Sprintf("process %d", p.PID)), how),
	}
	if d != nil {
		e.Name, e.Model = d.Name, d.Model
	}
	return e
}
