// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// processChanges finds the processes that have begun to use a device, or do not use it any more, since the last node.
type processChanges struct {
	last map[processKey]*gpu.Process // nil before the first read
}

type processKey struct {
	device string
	pid    int64
}

// next returns an event for each process that has come or gone. The processes of the first node make no events. The processes
// of a device that could not be read are assumed to go on.
func (c *processChanges) next(node *gpu.Node) []gpu.Event {
	if c == nil {
		return nil
	}
	devices := make(map[string]*gpu.Device, len(node.Devices))
	for i := range node.Devices {
		devices[node.Devices[i].ID] = &node.Devices[i]
	}
	now := make(map[processKey]*gpu.Process, len(node.Processes))
	var events []gpu.Event
	emit := func(kind gpu.EventType, p *gpu.Process, how string) {
		if c.last != nil {
			events = append(events, processEvent(kind, node, devices[p.DeviceID], p, how))
		}
	}
	for i := range node.Processes {
		p := &node.Processes[i]
		key := processKey{p.DeviceID, p.PID}
		if now[key] != nil {
			continue
		}
		before := c.last[key]
		switch {
		case before == nil:
			emit(gpu.EventProcessStarted, p, "uses the GPU")
		case reused(before, p):
			emit(gpu.EventProcessExited, before, "does not use the GPU any more")
			emit(gpu.EventProcessStarted, p, "uses the GPU")
		}
		kept := *p // the source reuses the node
		if before != nil && !reused(before, p) && kept.Container == nil {
			kept.Container = before.Container
		}
		now[key] = &kept
	}
	gone := slices.SortedFunc(maps.Keys(c.last), func(a, b processKey) int {
		return cmp.Or(strings.Compare(a.device, b.device), cmp.Compare(a.pid, b.pid))
	})
	for _, key := range gone {
		if now[key] != nil {
			continue
		}
		if p := c.last[key]; !node.ProcessesKnown(devices[key.device]) {
			now[key] = p
		} else {
			emit(gpu.EventProcessExited, p, "does not use the GPU any more")
		}
	}
	c.last = now
	return events
}

// reused reports whether another process has got the process id.
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
