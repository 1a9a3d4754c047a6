// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/view"
)

func summarizeUsers(nodes []*view.Node, grouping By) []view.Summary {
	groups := newGroups()
	for _, n := range nodes {
		eachPackage(n, func(g *view.GPU, parts []*view.GPU) {
			// Users of a divided GPU are on its partitions. The package represents them only if it has users itself.
			if len(parts) == 0 || len(g.Containers)+len(g.Processes) > 0 {
				addUsers(groups, grouping, n, g, g, parts)
				return
			}
			for _, part := range parts {
				addUsers(groups, grouping, n, part, g, nil)
			}
		})
	}
	return groups.summaries(grouping)
}

// addUsers adds a device to the sum of each of its users. A partition without a state has the state of its package.
func addUsers(groups *groups, grouping By, n *view.Node, g, whole *view.GPU, parts []*view.GPU) {
	counted := *g
	if counted.Status == nil {
		counted.Status = whole.Status
	}
	var added []group
	totalOf := func(key group) *total {
		t := groups.total(key)
		if slices.Contains(added, key) {
			return t
		}
		added = append(added, key)
		t.add(n, g, parts)
		t.count(&counted, parts)
		return t
	}
	for _, device := range append([]*view.GPU{g}, parts...) {
		for _, c := range device.Containers {
			totalOf(userGroup(grouping, &c.User, n))
		}
		for _, p := range device.Processes {
			totalOf(userGroup(grouping, &p.User, n)).process(p.PID)
		}
	}
	if len(added) == 0 {
		totalOf(group{})
	}
}

// userGroup returns the group of a user, the one without a name if the user has no namespace or no workload.
func userGroup(grouping By, u *view.User, n *view.Node) group {
	if grouping == ByNamespace {
		if u.Namespace == nil {
			return group{}
		}
		return group{name: *u.Namespace, cluster: text(n.Cluster), namespace: *u.Namespace}
	}
	o, ok := OwnerOf(u, n)
	if !ok {
		return group{}
	}
	return group{name: o.Name, cluster: o.Cluster, namespace: o.Namespace, kind: o.Kind, node: o.Node}
}
