// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

func (m *message) ofNode(p *point) {
	key, ok := p.nodeKey()
	if !ok && p.name != metadata.MetricsInfo.HwGpuCount.Name { // a source of a cluster as a whole
		key, ok = nodeKey{cluster: p.clusterName()}, true
	}
	if !ok {
		m.dropped.add(dropUnknown, 1)
		return
	}
	n := m.node(key)
	if n == nil {
		return
	}
	m.begin(n, p)
	if m.put(n, &n.readings, p) && !math.IsNaN(p.value) {
		m.describe(n, p)
	}
}

// identity makes a device known.
func (m *message) identity(p *point) {
	id := text(p.attributes, "hw.id")
	key, ok := p.nodeKey()
	if !ok || id == "" || !validName(id) {
		m.invalid(p, "the point names no node or no hw.id")
		return
	}
	n := m.node(key)
	if n == nil {
		return
	}
	m.begin(n, p)
	d, loser := m.claim(n, id)
	if loser != nil {
		if _, ok := m.changed[loser]; !ok {
			m.changed[loser] = change{}
		}
	}
	if d == nil {
		return
	}
	if m.put(n, &d.readings, p) && !math.IsNaN(p.value) {
		d.describe(p.attributes, m.texts)
		m.describe(n, p)
	}
}

// node returns a node that may be new. If there are too many, a silent one goes for it. It is nil if none is silent.
func (m *message) node(key nodeKey) *node {
	if n := m.nodes[key]; n != nil {
		return n
	}
	if !m.room(nil, "max_nodes", func() bool { return len(m.nodes) < m.settings.MaxNodes }) {
		m.dropped.add(dropNodeLimit, 1, key.fields(tooMany("nodes", "max_nodes", m.settings.MaxNodes)...)...)
		return nil
	}
	key = nodeKey{*m.texts.share(key.cluster), *m.texts.share(key.name)}
	n := &node{key: key, devices: map[string]*device{}, labels: map[string]string{}, lastUpdate: m.now}
	m.texts.set(&n.cluster, key.cluster)
	m.nodes[key] = n
	return n
}

// capacity notes whether the node's cluster still has the node: kubernetes_cluster ends the series of a node that was removed. A node that
// offers several resources is there as long as one of them is.
func (m *message) capacity(p *point) {
	if key, ok := p.nodeKey(); ok {
		if key.cluster == "" {
			key.cluster = p.clusterName()
		}
		m.offered[key] = m.offered[key] || !math.IsNaN(p.value)
	}
}

// room reports whether there is room below a limit, for which silent nodes may have to go.
func (m *message) room(except *node, limit string, has func() bool) bool {
	for !has() {
		if !m.removeSilent(except, limit) {
			return false
		}
	}
	return true
}

// removeSilent forgets the node that has been silent longest, but not the one that needs the room, because a limit was reached. It reports
// false if none is silent: two that send would otherwise remove each other again and again.
func (m *message) removeSilent(except *node, limit string) bool {
	var longest *node
	if !m.full { // else this message has looked already
		for _, n := range m.nodes {
			if _, sends := m.changed[n]; !sends && n != except && n.silent(m.now) && (longest == nil || n.lastUpdate < longest.lastUpdate) {
				longest = n
			}
		}
	}
	if longest == nil {
		m.full = true
		return false
	}
	if longest.key.name != "" {
		m.settings.Logger.Warn("A silent node is no longer shown", longest.key.fields(zap.String("reason", limit+" is reached, and no other node has been silent longer"),
			zap.Duration("silent_for", m.now-longest.lastUpdate), zap.String("remedy", "raise "+limit+" of the gpu_view exporter"))...)
	}
	m.remove(longest)
	m.changed[longest] = change{}
	return true
}

// ofDevice adds a point of a device, or of what uses one.
func (m *message) ofDevice(p *point) {
	id := text(p.attributes, "hw.id")
	n := m.owners[id]
	kind := text(p.attributes, "hw.type")
	switch {
	case id == "" || n == nil || kind != "" && kind != "gpu":
		m.dropped.add(dropUnknown, 1)
		return
	case p.hasNode && p.node != n.key:
		m.dropped.add(dropDuplicate, 1)
		return
	}
	d := n.devices[id]
	switch p.subject {
	case ofProcess:
		m.ofProcess(n, d, p)
	case ofContainer:
		m.ofContainer(n, d, p)
	default:
		m.put(n, &d.readings, p)
	}
}

func (m *message) ofProcess(n *node, d *device, p *point) {
	pid, ok := integer(p.attributes, "process.pid")
	if !ok || pid < 0 {
		m.invalid(p, "the point lacks process.pid")
		return
	}
	entry := d.processes[pid]
	if entry == nil {
		if !m.use(d, n) {
			return
		}
		entry = &process{}
		d.processes[pid] = entry
	}
	if m.put(n, &entry.readings, p) && !math.IsNaN(p.value) {
		entry.describe(p, m.texts)
	}
}

func (m *message) ofContainer(n *node, d *device, p *point) {
	key := containerKey(p.resource.attributes, p.attributes)
	if key == "" || len(key) > 4*maxNameLength {
		m.invalid(p, "the point names no container, job or unit")
		return
	}
	entry := d.containers[key]
	if entry == nil {
		if !m.use(d, n) {
			return
		}
		entry = &container{}
		d.containers[*m.texts.share(key)] = entry
	}
	if !m.put(n, &entry.readings, p) || math.IsNaN(p.value) {
		return
	}
	entry.describe(p, m.texts)
	if p.name == metadata.MetricsInfo.ContainerGpuAllocated.Name {
		entry.describeAllocation(p.attributes, m.texts)
	}
}

// put adds a reading, and reports whether it is new.
func (m *message) put(n *node, target *readings, p *point) bool {
	key := fieldKey{metric: p.metric}
	for i, label := range p.labels {
		key.labels[i] = text(p.attributes, label)
	}
	f, ok := m.fields.get(key)
	if !ok {
		m.dropped.add(dropFieldLimit, 1, zap.String("reason", "the metrics contain too many kinds of labels"))
		return false
	}
	if target.full(f) {
		m.dropped.add(dropFieldLimit, 1, zap.String("reason", "the metrics contain too many kinds of labels"))
		return false
	}
	step, ok := target.put(reading{timestamp: p.timestamp, value: p.value, field: f}, p.delta, m.now)
	if !ok {
		return false
	}
	c := m.changed[n]
	if !math.IsNaN(p.value) {
		c.latest = max(c.latest, p.timestamp)
	}
	if (p.name == metadata.MetricsInfo.HwGpuSourceReadable.Name || p.subject == ofIdentity) && m.ahead(p.timestamp) == n.ahead { // each read has them; a point after a clock change is not a read
		c.step = max(c.step, step)
	}
	m.changed[n] = c
	return true
}

// begin starts a node again whose clock was set back: the old times would hide the new ones.
func (m *message) begin(n *node, p *point) {
	if !math.IsNaN(p.value) && m.setBack(n, p.timestamp) {
		m.reset(n)
		n.settled = m.now + settling
	}
}

// setBack reports whether the clock of a node was set back, and a point would be ignored for it. That is so if the node was ahead of this
// clock and the point is not, or if the node is silent and the point is too old. Of two collectors with different clocks, the one that is
// ahead hides the other, instead of both hiding each other in turn: a node that was set back is not set back again for a while.
func (m *message) setBack(n *node, timestamp pcommon.Timestamp) bool {
	if n.ahead && m.now >= n.settled && timestamp < n.latest && timestamp <= m.clock+pcommon.Timestamp(trustedClocks) {
		return true
	}
	return n.silent(m.now) && timestamp+pcommon.Timestamp(n.interval.silence()) < n.latest
}

// ahead reports whether a point is from a clock that is ahead of this one. The margin keeps a clock near the limit from being both in turn.
func (m *message) ahead(timestamp pcommon.Timestamp) bool {
	return timestamp > m.clock+2*pcommon.Timestamp(trustedClocks)
}

// describe notes what the resource has of a node.
func (m *message) describe(n *node, p *point) {
	m.texts.set(&n.host, hostOf(p, n))
	if p.hasNode {
		n.labels = labelsOf(nodeLabel, p.resource.attributes, n.labels, m.texts)
	}
}

func hostOf(p *point, n *node) string {
	if host := text(p.resource.attributes, "host.name"); host != "" {
		return host
	}
	if n.host != nil { // one of two collectors that send the node may not know it
		return *n.host
	}
	return ""
}

// nodeKey returns the node of a point: the node of its resource, else of its own attributes, because pipelines may drop resources.
func (p *point) nodeKey() (nodeKey, bool) {
	if p.hasNode {
		return p.node, true
	}
	return nodeOf(p.attributes)
}

func (p *point) clusterName() string {
	name := text(p.resource.attributes, "k8s.cluster.name")
	if name == "" {
		name = text(p.attributes, "k8s.cluster.name")
	}
	return gpu.BoundedText(name, maxNameLength)
}
