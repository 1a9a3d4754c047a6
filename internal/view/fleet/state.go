// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"time"

	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// state is what is known of all nodes. A device is in one node at a time.
type state struct {
	settings Settings
	nodes    map[nodeKey]*node
	owners   map[string]*node // by hw.id
	uses     int              // of devices by processes and containers
	fields   *fields
	texts    *texts
	dropped  dropped
	info     field
}

func newState(settings Settings) *state {
	s := &state{
		settings: settings, nodes: map[nodeKey]*node{}, owners: map[string]*node{}, fields: newFields(), texts: newTexts(),
		dropped: dropped{logger: settings.Logger},
	}
	s.info, _ = s.fields.get(fieldKey{metric: metrics[metadata.MetricsInfo.HwGpuInfo.Name]})
	return s
}

// claim returns a device of a node that may be new there. It is nil if another node has the device, or if there are too many. A node loses
// a device to another one when it is silent or no longer sends the device. It returns the node that lost the device.
func (m *message) claim(n *node, id string) (claimed *device, loser *node) {
	s, owner := m.state, m.owners[id]
	switch {
	case owner == n:
		return n.devices[id], nil
	case owner != nil && !owner.silent(m.now) && owner.devices[id].shown():
		s.dropped.add(dropDuplicate, 1, owner.key.fields(zap.String("hw.id", id), zap.String("other_node", n.key.name),
			zap.String("effect", "the GPU is shown only on the first node"))...)
		return nil, nil
	case owner != nil:
		s.release(owner, owner.devices[id])
	case !m.room(n, "max_gpus", func() bool { return len(s.owners) < s.settings.MaxGPUs }):
		s.dropped.add(dropGPULimit, 1, n.key.fields(append(tooMany("GPUs", "max_gpus", s.settings.MaxGPUs), zap.String("hw.id", id))...)...)
		return nil, nil
	}
	id = *s.texts.share(id)
	d := newDevice(id, s.info)
	n.devices[id], s.owners[id] = d, n
	return d, owner
}

// use reports whether there may be one more use of a device.
func (m *message) use(d *device, n *node) bool {
	s := m.state
	if !m.room(n, "max_processes", func() bool { return s.uses < 2*s.settings.MaxProcesses }) {
		s.dropped.add(dropUseLimit, 1, n.key.fields(append(tooMany("processes or containers", "max_processes", s.settings.MaxProcesses),
			zap.String("hw.id", d.id))...)...)
		return false
	}
	s.uses++
	return true
}

// release takes a device from its node.
func (s *state) release(n *node, d *device) {
	s.uses -= len(d.processes) + len(d.containers)
	delete(n.devices, d.id)
	delete(s.owners, d.id)
}

// reset forgets what a node sent.
func (s *state) reset(n *node) {
	for _, d := range n.devices {
		s.release(n, d)
	}
	n.readings, n.latest = readings{}, 0
}

// expire removes from a node what it no longer sends.
func (s *state) expire(n *node, now time.Duration) {
	age := n.interval.silence()
	n.readings.expire(age)
	for _, d := range n.devices {
		uses := len(d.processes) + len(d.containers)
		d.expire(age, now)
		s.uses -= uses - len(d.processes) - len(d.containers)
		if now-d.lastUpdate > age {
			s.release(n, d)
		}
	}
}

// remove forgets a node.
func (s *state) remove(n *node) {
	s.reset(n)
	delete(s.nodes, n.key)
}
