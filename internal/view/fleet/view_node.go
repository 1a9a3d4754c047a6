// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// render returns the view of a node.
func (s *renderer) render() *view.Node {
	n := s.node
	v := &view.Node{
		Name: n.key.name, Host: n.host, Cluster: n.cluster, State: view.Live, Sources: sources(&n.readings, s.fields), LastSeen: s.clockTime(n.lastUpdate),
		Labels: n.labels, Drivers: []view.Driver{}, GPUs: []*view.GPU{},
	}
	v.Readable = readable(v.Sources)
	if known := n.interval.known(); known > 0 {
		v.Interval = floatOf(known.Round(time.Millisecond).Seconds())
	}
	for f, value := range n.values {
		if key := s.fields.key(f); key.metric.onNode != nil {
			key.metric.onNode(v, key, value)
		}
	}
	for _, d := range n.devices {
		if d.shown() {
			v.GPUs = append(v.GPUs, s.gpu(d))
		}
	}
	order(v.GPUs)
	sum(v)
	return v
}

// staleOf returns a node as it is shown while it is silent.
func staleOf(n *view.Node) *view.Node {
	stale := *n
	stale.State, stale.GPUs = view.Stale, make([]*view.GPU, len(n.GPUs))
	for i, g := range n.GPUs {
		last := *g
		last.Stale = true
		stale.GPUs[i] = &last
	}
	return &stale
}

// sum sets the sums over a node's GPUs. The share of memory in use covers the GPUs whose total and use are both known.
func sum(v *view.Node) {
	var used, total float64
	for _, g := range v.GPUs {
		if g.Vendor != nil && g.DriverVersion != nil {
			v.Drivers = append(v.Drivers, view.Driver{Vendor: *g.Vendor, Version: *g.DriverVersion})
		}
		if g.Parent == nil {
			addMemory(&v.Memory, &g.Memory)
			if m := &g.Memory; m.Total != nil && m.Used != nil {
				used, total = used+*m.Used, total+*m.Total
			}
		}
	}
	slices.SortFunc(v.Drivers, func(a, b view.Driver) int {
		return cmp.Or(cmp.Compare(a.Vendor, b.Vendor), cmp.Compare(a.Version, b.Version))
	})
	v.Drivers = slices.Clip(slices.Compact(v.Drivers))
	if total > 0 {
		v.Memory.Utilization = floatOf(used / total)
	}
}

func addMemory(sum, m *view.Memory) {
	for _, part := range []struct{ sum, value **float64 }{
		{&sum.Total, &m.Total}, {&sum.Used, &m.Used}, {&sum.Reserved, &m.Reserved}, {&sum.Free, &m.Free},
	} {
		switch {
		case *part.value == nil:
		case *part.sum == nil:
			*part.sum = floatOf(**part.value)
		default:
			**part.sum += **part.value
		}
	}
}

func addCount(sum **int, value float64) {
	if *sum != nil {
		value += float64(**sum)
	}
	*sum = intOf(value)
}

// order puts GPUs in the order of their index and ID, and each partition behind its package.
func order(gpus []*view.GPU) {
	packages := make(map[string]*view.GPU, len(gpus))
	for _, g := range gpus {
		if g.Parent == nil {
			packages[g.ID] = g
		}
	}
	whole := func(g *view.GPU) *view.GPU {
		if g.Parent != nil && packages[*g.Parent] != nil {
			return packages[*g.Parent]
		}
		return g
	}
	slices.SortFunc(gpus, func(a, b *view.GPU) int {
		p, q := whole(a), whole(b)
		return cmp.Or(byIndex(p, q), cmp.Compare(behind(a, p), behind(b, q)), byIndex(a, b))
	})
}

func byIndex(a, b *view.GPU) int {
	switch {
	case a.Index != nil && b.Index != nil:
		return cmp.Or(cmp.Compare(*a.Index, *b.Index), cmp.Compare(a.ID, b.ID))
	case a.Index != nil:
		return -1
	case b.Index != nil:
		return 1
	}
	return cmp.Compare(a.ID, b.ID)
}

func behind(g, whole *view.GPU) int {
	if g == whole {
		return 0
	}
	return 1
}
