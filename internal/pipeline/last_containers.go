// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"maps"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// lastContainers are the containers that held and used each device when that was last known, by hw.id. It never changes after it was made.
type lastContainers map[string]deviceContainers

// deviceContainers are the containers of one device. Nil: not known since the device was first seen.
type deviceContainers struct {
	parent         string // of a partition
	holders, users []*gpu.Container
}

// next returns what is known after a read. Values that the read could not determine stay as they were: a lost GPU or an unreachable kubelet
// is no reason to forget the containers. A device that has left the node is forgotten, unless the node could not be read.
func (l lastContainers) next(node *gpu.Node) lastContainers {
	next := make(lastContainers, len(node.Devices))
	if node.Failure != nil {
		maps.Copy(next, l)
	}
	for i := range node.Devices {
		d := &node.Devices[i]
		now := l[d.ID]
		now.parent = d.Parent
		if d.HoldersKnown {
			now.holders = []*gpu.Container{}
			for _, h := range d.Holders {
				now.holders = withContainer(now.holders, h.Container)
			}
		}
		if !d.Unread && node.ProcessesKnown(d) {
			now.users = []*gpu.Container{}
			for j := range node.Processes {
				if p := &node.Processes[j]; p.DeviceID == d.ID && p.Container != nil {
					now.users = withContainer(now.users, p.Container)
				}
			}
		}
		next[d.ID] = now
	}
	return next
}

// get returns the containers of a device. A GPU also has the containers of its partitions.
func (l lastContainers) get(device string) deviceContainers {
	all := l[device]
	for _, part := range l {
		if device != "" && part.parent == device {
			all.add(part)
		}
	}
	return all
}

// add adds the containers that other has. Both lists of c are copied first.
func (c *deviceContainers) add(other deviceContainers) {
	c.holders = union(c.holders, other.holders)
	c.users = union(c.users, other.users)
}

// union returns the containers that are in either list; nil if both are unknown.
func union(a, b []*gpu.Container) []*gpu.Container {
	if b == nil {
		return a
	}
	all := append([]*gpu.Container{}, a...)
	for _, container := range b {
		all = withContainer(all, container)
	}
	return all
}

// withContainer adds a container unless it is in the list: by its ID, else by its names.
func withContainer(list []*gpu.Container, container *gpu.Container) []*gpu.Container {
	if slices.ContainsFunc(list, func(have *gpu.Container) bool { return sameContainer(have, container) }) {
		return list
	}
	return append(list, container)
}

func sameContainer(a, b *gpu.Container) bool {
	switch {
	case a == b:
		return true
	case a.Job() != b.Job():
		return false
	case a.ID != "" && b.ID != "":
		return a.ID == b.ID
	default:
		return a.Namespace == b.Namespace && a.PodName == b.PodName && a.Name == b.Name && a.RuntimeName == b.RuntimeName &&
			a.SystemdUnit == b.SystemdUnit
	}
}
