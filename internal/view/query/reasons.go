// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// maxReasons bounds the reasons of an answer: a thousand nodes can have one each.
const maxReasons = 100

// Reasons returns why nodes of a scope, or the clusters as a whole, cannot be read: cluster/node, source and reason of each.
func Reasons(s *view.Snapshot, scope Scope, nodes []*view.Node) []string {
	var reasons []string
	if scope.Node == "" {
		for _, c := range s.Clusters {
			if scope.Cluster == "" || scope.Cluster == c.Name {
				reasons = appendReasons(reasons, c.Name, c.Sources)
			}
		}
	}
	for _, n := range nodes {
		reasons = appendReasons(reasons, ClusterName(n.Cluster)+"/"+n.Name, n.Sources)
	}
	return reasons[:min(len(reasons), maxReasons)]
}

func appendReasons(reasons []string, location string, sources []view.Source) []string {
	for _, source := range sources {
		if source.Readable && len(source.Reasons) == 0 {
			continue
		}
		if len(source.Reasons) == 0 {
			reasons = append(reasons, location+": "+source.Name+": unreadable")
		}
		for _, reason := range source.Reasons {
			reasons = append(reasons, location+": "+source.Name+": "+reason)
		}
	}
	return reasons
}

// Readable returns an *UnreadableError if nodes have no GPU that was read and something says why: a source that cannot read, or that no
// node has sent anything.
func Readable(s *view.Snapshot, scope Scope, nodes []*view.Node) error {
	if slices.ContainsFunc(nodes, func(n *view.Node) bool { return slices.ContainsFunc(n.GPUs, WasRead) }) {
		return nil
	}
	reasons := Reasons(s, scope, nodes)
	if len(s.Nodes) == 0 && len(reasons) == 0 {
		reasons = []string{"no node has sent anything"}
	}
	if len(reasons) == 0 {
		return nil
	}
	return &UnreadableError{Reasons: reasons}
}

// Reads reports whether a source of a node can be read and has a GPU there. A source that finds no GPU of its vendor has nothing to read,
// and may not have the driver or the tool either.
func Reads(n *view.Node, source *view.Source) bool {
	return source.Readable && slices.ContainsFunc(n.GPUs, func(g *view.GPU) bool {
		return source.Vendor == nil || g.Vendor != nil && *g.Vendor == *source.Vendor
	})
}

// WasRead reports whether anything of a GPU was read. A GPU with a name and nothing else was not.
func WasRead(g *view.GPU) bool {
	return g.Status != nil || g.Memory.Total != nil || g.Utilization.General != nil || g.Power.Watts != nil || len(g.Temperatures) > 0
}

// ProcessCount returns how many processes a device has, nil if nothing of it was read.
func ProcessCount(g *view.GPU) *int {
	n := len(g.Processes)
	if n == 0 && !WasRead(g) {
		return nil
	}
	return &n
}
