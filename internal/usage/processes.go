// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/cadence"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// processes follows which processes use which devices.
type processes struct {
	open  map[processKey]*Process
	known knownAt // when all processes of a device were known
	read  bool    // there was a read before
}

type processKey struct {
	device string
	pid    int64
}

func (k processKey) compare(other processKey) int {
	return cmp.Or(cmp.Compare(k.device, other.device), cmp.Compare(k.pid, other.pid))
}

// next returns an event for each process that has started or exited. The processes of the first node produce no events. The processes of a
// device that could not be read are assumed to go on.
func (c *processes) next(
	node *gpu.Node, devices map[string]*gpu.Device, since cadence.Span, longest time.Duration, unreadable func(*Device, *Period) bool,
) []gpu.Event {
	now := make(map[processKey]*Process, len(node.Processes))
	var events []gpu.Event
	for i := range node.Processes {
		p := &node.Processes[i]
		key := processKey{p.DeviceID, p.PID}
		if now[key] != nil {
			continue
		}
		open := c.open[key]
		if open != nil && open.reusedBy(p) {
			events = append(events, open.exited(node.Time, longest))
			open = nil
		}
		started := open == nil
		if started {
			open = &Process{PID: p.PID, Device: Device{ID: p.DeviceID, Vendor: node.Vendor}}
			open.Start, open.StartKnown = node.Time.Round(0), c.known.knew(devices[p.DeviceID], node.Time, longest)
		}
		open.add(p, devices[p.DeviceID], since)
		now[key] = open
		if started && c.read {
			events = append(events, open.event(gpu.EventProcessStarted, node.Time, open.use(), "uses the GPU"))
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(c.open), processKey.compare) {
		open := c.open[key]
		switch {
		case now[key] != nil:
		case !node.ProcessesKnown(devices[key.device]), unreadable(&open.Device, &open.Period):
			now[key] = open
		default:
			events = append(events, open.exited(node.Time, longest))
		}
	}
	c.known.update(node, devices, node.ProcessesKnown)
	c.open, c.read = now, true
	return events
}

// reusedBy reports whether the process id now belongs to another process.
func (p *Process) reusedBy(now *gpu.Process) bool {
	return !p.Created.IsZero() && !now.Created.IsZero() && !p.Created.Equal(now.Created)
}

// add adds what a read shows. What it could not find out stays as it was.
func (p *Process) add(now *gpu.Process, d *gpu.Device, since cadence.Span) {
	if d != nil {
		p.Device = deviceOf(d)
	}
	p.Type = now.Type
	p.Executable, p.Command = cmp.Or(now.Executable, p.Executable), cmp.Or(now.Command, p.Command)
	if !now.Created.IsZero() {
		p.Created = now.Created
	}
	if now.Container != nil {
		p.Container = now.Container
	}
	seenLast := !p.Seen.IsZero() && p.Seen.Equal(since.End.Add(-since.Length))
	if busy, ok := busiest(now).Get(); ok && seenLast && since.Observed && since.Length > 0 {
		p.Busy.plus(busy * since.Length.Seconds())
		p.Idle.plus((1 - busy) * since.Length.Seconds())
	}
	p.Memory.add(now.Memory)
	p.Seen = since.End.Round(0)
}

// busiest returns the fraction of the time in which the process ran anything, by its busiest task.
func busiest(p *gpu.Process) gpu.Opt[float64] {
	var highest gpu.Opt[float64]
	for _, task := range p.Utilization {
		if v, ok := task.Get(); ok {
			soFar, _ := highest.Get()
			highest = gpu.Some(min(max(soFar, v), 1))
		}
	}
	return highest
}

// exited returns the event that reports the end of the process. end is the time of the read that no longer showed it.
func (p *Process) exited(end time.Time, longest time.Duration) gpu.Event {
	u := p.ended(end, longest)
	u.IdleTime, u.BusyTime = p.Idle.value(), p.Busy.value()
	p.Memory.set(u)
	return p.event(gpu.EventProcessExited, end, u, "does not use the GPU any more")
}

func (p *Process) event(kind gpu.EventType, eventTime time.Time, u *gpu.Use, how string) gpu.Event {
	e := gpu.Event{
		Type: kind, Time: eventTime, Use: u,
		Process: &gpu.Process{
			PID: p.PID, DeviceID: p.Device.ID, Type: p.Type, Created: p.Created, Executable: p.Executable, Command: p.Command, Container: p.Container,
		},
		Message: fmt.Sprintf("%s %s", cmp.Or(p.Executable, p.Command, fmt.Sprintf("process %d", p.PID)), how),
	}
	p.Device.setEvent(&e)
	return e
}
