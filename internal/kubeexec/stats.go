// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"maps"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard"
)

// ClusterStats is the state of the reads of a cluster.
type ClusterStats struct {
	Name  string
	Nodes []NodeStats // by name and vendor
	// Throttled is the number of times that the API server has asked for fewer requests.
	Throttled int64
	// Skipped is the number of intervals in which a node was not read, because of a back-off, a pause that the API server has
	// asked for, or more nodes than max_concurrent and the timeout allow.
	Skipped int64
	// Election is the state of leader election; nil where all nodes are read. Otherwise Nodes are those of the held shards.
	Election *shard.Status
}

// unreadable returns the state of a node's reads before it became unreadable. The caller holds c.mu.
func (c *cluster) unreadable(u unread) NodeStats {
	s := NodeStats{Node: u.node, Vendor: u.vendor}
	if n := c.running[u.node]; n != nil {
		n.mu.Lock()
		if before := n.stats[u.vendor]; before != nil {
			s = *before
		}
		n.mu.Unlock()
	}
	s.Unreadable = u.reason.Error()
	return s
}

// stats returns the state of the reads.
func (c *cluster) stats() ClusterStats {
	s := ClusterStats{Name: c.name, Throttled: c.throttled.Load(), Skipped: c.skipped.Load()}
	if c.election != nil {
		status := c.election.Status()
		s.Election = &status
	}
	c.mu.Lock()
	nodes := slices.Collect(maps.Values(c.running))
	for _, u := range c.unread {
		s.Nodes = append(s.Nodes, c.unreadable(u))
	}
	c.mu.Unlock()
	for _, n := range nodes {
		n.mu.Lock()
		for i := range n.plan.jobs {
			vendor := n.plan.jobs[i].vendor()
			if of := n.stats[vendor]; of != nil {
				s.Nodes = append(s.Nodes, *of)
			} else {
				s.Nodes = append(s.Nodes, NodeStats{Node: n.name, Vendor: vendor})
			}
		}
		n.mu.Unlock()
	}
	slices.SortFunc(s.Nodes, func(a, b NodeStats) int {
		if a.Node != b.Node {
			return strings.Compare(a.Node, b.Node)
		}
		return strings.Compare(string(a.Vendor), string(b.Vendor))
	})
	return s
}
