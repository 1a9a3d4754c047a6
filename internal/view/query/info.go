// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"cmp"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// Info reports whether GPUs of a scope's nodes can be read, and which sources cannot read what.
func Info(s *view.Snapshot, scope Scope, nodes []*view.Node) view.Info {
	info := view.Info{
		Time: s.Time, Instance: s.Instance, Nodes: len(nodes),
		Clusters: []view.Cluster{}, Vendors: []string{}, Drivers: []view.Driver{}, Sources: []view.NodeSource{},
	}
	for _, c := range s.Clusters {
		if scope.Cluster == "" || scope.Cluster == c.Name {
			info.Clusters = append(info.Clusters, c)
		}
	}
	for _, n := range nodes {
		for _, g := range n.GPUs {
			info.Available = info.Available || WasRead(g)
			if g.Vendor != nil {
				info.Vendors = appendNew(info.Vendors, *g.Vendor)
			}
			if g.Parent == nil {
				info.GPUs++
			}
		}
		for _, d := range n.Drivers {
			info.Drivers = appendNew(info.Drivers, d)
		}
		for _, source := range n.Sources {
			info.Sources = append(info.Sources, view.NodeSource{Node: &n.Name, Cluster: n.Cluster, Source: source})
		}
	}
	slices.Sort(info.Vendors)
	slices.SortFunc(info.Drivers, func(a, b view.Driver) int {
		return cmp.Or(cmp.Compare(a.Vendor, b.Vendor), cmp.Compare(a.Version, b.Version))
	})
	return info
}

func appendNew[T comparable](all []T, v T) []T {
	if slices.Contains(all, v) {
		return all
	}
	return append(all, v)
}
