// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import "github.com/otelgpu/gpureceiver/internal/view"

// By is what a summary is grouped by.
type By string

// The groups of a summary.
const (
	ByNothing   By = ""
	ByCluster   By = "cluster"
	ByNode      By = "node"
	ByNamespace By = "namespace"
	ByWorkload  By = "workload"
	ByModel     By = "model"
)

// Summarize adds up the GPUs of a scope's nodes: everything, or a sum for each cluster, node, model, namespace or workload, in the order
// in which they come first. Only packages count.
//
// Sums by namespace and by workload are over the devices that one holds or uses, of a divided GPU the partitions. What several of them
// share is in the sum of each. What none of them has is in a sum without a name.
func Summarize(scope Scope, nodes []*view.Node, grouping By) []view.Summary {
	if grouping == ByNamespace || grouping == ByWorkload {
		return summarizeUsers(nodes, grouping)
	}
	groups := newGroups()
	if grouping == ByNothing {
		groups.total(group{cluster: optionalCluster(scope.Cluster)})
	}
	for _, n := range nodes {
		if grouping != ByModel {
			groups.total(groupOf(scope, grouping, n, nil)).enter(n)
		}
		eachPackage(n, func(g *view.GPU, parts []*view.GPU) {
			t := groups.total(groupOf(scope, grouping, n, g))
			t.add(n, g, parts)
			t.count(g, parts)
			for _, p := range g.Processes {
				t.process(p.PID)
			}
			for _, part := range parts {
				for _, p := range part.Processes {
					t.process(p.PID)
				}
			}
		})
	}
	return groups.summaries(grouping)
}

// groupOf returns the group of a GPU. It may be nil if groups are of whole nodes.
func groupOf(scope Scope, grouping By, n *view.Node, g *view.GPU) group {
	switch grouping {
	case ByCluster:
		return group{name: text(n.Cluster), cluster: text(n.Cluster)}
	case ByNode:
		return group{name: n.Name, cluster: text(n.Cluster), node: n.Name}
	case ByModel:
		return group{name: text(g.Model), cluster: optionalCluster(scope.Cluster)}
	default:
		return group{cluster: optionalCluster(scope.Cluster)}
	}
}

func optionalCluster(name string) string {
	if name == NoCluster {
		return ""
	}
	return name
}

// eachPackage calls a function for each package of a node and its partitions. A partition whose package is missing represents itself.
func eachPackage(n *view.Node, do func(g *view.GPU, parts []*view.GPU)) {
	for i := 0; i < len(n.GPUs); {
		g, end := n.GPUs[i], i+1
		for g.Parent == nil && end < len(n.GPUs) && n.GPUs[end].Parent != nil && *n.GPUs[end].Parent == g.ID {
			end++
		}
		do(g, n.GPUs[i+1:end])
		i = end
	}
}

// group is a group's identity. Its fields may be empty.
type group struct {
	name, cluster, namespace, kind, node string
}

// groups are the sums of groups, in the order in which they came.
type groups struct {
	totals map[group]*total
	order  []group
	last   *total
	key    group
}

func newGroups() *groups { return &groups{totals: map[group]*total{}} }

func (g *groups) total(key group) *total {
	if g.last != nil && g.key == key {
		return g.last
	}
	t := g.totals[key]
	if t == nil {
		t = &total{}
		g.totals[key] = t
		g.order = append(g.order, key)
	}
	g.last, g.key = t, key
	return t
}

func (g *groups) summaries(grouping By) []view.Summary {
	all := make([]view.Summary, 0, len(g.order))
	for _, key := range g.order {
		s := g.totals[key].summary()
		s.Group, s.Cluster, s.Namespace = optional(key.name), optional(key.cluster), optional(key.namespace)
		s.Kind, s.Node = optional(key.kind), optional(key.node)
		s.By = optional(string(grouping))
		all = append(all, s)
	}
	return all
}
