// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard"
)

// ClusterStats is how the reading of a cluster went.
type ClusterStats struct {
	Name  string
	Nodes []NodeStats // by name and vendor
	// Throttled is how often the API server has asked for fewer requests.
	Throttled int64
	// Skipped is how often a node was not read in its interval, since it was backed off, the API server had asked for a
	// pause, or there were more nodes than max_concurrent and the timeout allow for.
	Skipped int64
	// Election is how leader election stands; nil where all nodes are read. Then Nodes are those of the shards held.
	Election *shard.Status
}

// NodeStats is how the reading of one node's GPUs of one vendor went.
type NodeStats struct {
	Node   string
	Vendor gpu.Vendor
	// Unreadable is why nothing is read of a node that has GPUs: there is no driver pod that is ready. Empty where there is.
	Unreadable string
	// Read tells whether there was a read yet; only then Success and Duration mean anything.
	Read     bool
	Success  bool          // of the last read
	Duration time.Duration // of the last read
	LastGood time.Time     // when the last read began that succeeded; zero if there was none
	Failures int           // reads that failed in a row
}

// reading notes the end of a read. One that had no answer is not a good one, and no reason to read the node less often: its GPUs
// are sent, failed.
func (s *NodeStats) reading(began time.Time, took time.Duration, unread bool, err error) {
	s.Read, s.Success, s.Duration = true, err == nil && !unread, took
	if err != nil {
		s.Failures++
		return
	}
	s.Failures = 0
	if !unread {
		s.LastGood = began
	}
}

// unreadable returns how the reading of a node went before it could not be read any more. The caller holds c.mu.
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

// stats returns how the reading goes.
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
