// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// processes returns the views of the processes on a device, by PID.
func (s *renderer) processes(d *device) []*view.Process {
	shown := make([]*view.Process, 0, len(d.processes))
	for pid, p := range d.processes {
		if p.alive() {
			shown = append(shown, s.process(d, pid, p))
		}
	}
	slices.SortFunc(shown, func(a, b *view.Process) int { return cmp.Compare(a.PID, b.PID) })
	return slices.Clip(shown)
}

func (s *renderer) process(d *device, pid int64, p *process) *view.Process {
	v := p.draft()
	v.PID, v.GPU, v.GPUIndex, v.Node, v.Cluster = int(pid), d.id, d.index, s.node.key.name, s.node.cluster
	for f, value := range p.values {
		if key := s.fields.key(f); key.metric.onProcess != nil {
			key.metric.onProcess(v, key, value)
		}
	}
	p.published = true
	return v
}

// containers returns the views of the containers on a device, by namespace, pod, name and ID.
func (s *renderer) containers(d *device, g *view.GPU) []*view.Container {
	shown := make([]*view.Container, 0, len(d.containers))
	for _, key := range slices.Sorted(maps.Keys(d.containers)) {
		c := d.containers[key]
		c.shown = nil
		if c.alive() {
			c.shown = s.container(c, g)
			shown = append(shown, c.shown)
		}
	}
	slices.SortStableFunc(shown, func(a, b *view.Container) int {
		return cmp.Or(compare(a.Namespace, b.Namespace), compare(a.Pod, b.Pod), compare(a.Container, b.Container))
	})
	return slices.Clip(shown)
}

func (s *renderer) container(c *container, g *view.GPU) *view.Container {
	v := &view.Container{User: c.user, Resource: c.resource, Allocator: c.allocator, Sharing: c.sharing}
	for f, value := range c.values {
		if key := s.fields.key(f); key.metric.onContainer != nil {
			key.metric.onContainer(v, key, value)
		}
	}
	if v.Allocated == nil || !*v.Allocated {
		v.Resource, v.Allocator, v.Sharing = nil, nil, nil
	}
	v.IdleSince = s.idleSince(c, v, g)
	return v
}

// idleSince returns since when a container holds a device and does not use it, nil if that has not been so for long enough. A container
// whose own utilization is not known is as busy as the device.
func (s *renderer) idleSince(c *container, v *view.Container, g *view.GPU) *time.Time {
	utilization := v.Utilization
	if utilization == nil {
		utilization = g.Utilization.General
	}
	before := c.idle
	c.idle = v.Allocated != nil && *v.Allocated && utilization != nil && *utilization <= s.idleThreshold
	if !before {
		c.idleSince = s.node.lastUpdate
	}
	if !c.idle || s.node.lastUpdate-c.idleSince < s.idleAfter {
		return nil
	}
	since := s.clockTime(c.idleSince)
	return &since
}

// compare orders texts, those that are absent first.
func compare(a, b *string) int {
	switch {
	case a == nil || b == nil:
		return cmp.Compare(present(a), present(b))
	default:
		return cmp.Compare(*a, *b)
	}
}

func present(text *string) int {
	if text == nil {
		return 0
	}
	return 1
}
