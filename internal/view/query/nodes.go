// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// NoCluster is the name by which requests call what is outside clusters.
const NoCluster = "-"

// maxCandidates bounds the candidates of an ambiguous name.
const maxCandidates = 100

// Scope is a part of the fleet. An empty field matches everything.
type Scope struct {
	Cluster string // NoCluster: nodes outside clusters
	Node    string // k8s.node.name or host.name
}

// Nodes returns the nodes of a scope. Its error is an *UnknownError, an *AmbiguousError, or a *NoGPUError for a cluster without GPUs
// unless the scope names a node.
func Nodes(s *view.Snapshot, scope Scope) ([]*view.Node, error) {
	nodes, err := Select(s, scope)
	if err != nil || scope.Node != "" || scope.Cluster == "" || hasGPU(nodes) {
		return nodes, err
	}
	return nil, &NoGPUError{Cluster: scope.Cluster, Reasons: Reasons(s, scope, nodes)}
}

// Select is as Nodes. It accepts a cluster without GPUs.
func Select(s *view.Snapshot, scope Scope) ([]*view.Node, error) {
	nodes := s.Nodes
	if scope.Cluster != "" {
		nodes = filter(nodes, func(n *view.Node) bool { return ClusterName(n.Cluster) == scope.Cluster })
		if len(nodes) == 0 && cluster(s, scope.Cluster) == nil {
			return nil, &UnknownError{What: "cluster", Name: scope.Cluster}
		}
	}
	if scope.Node == "" {
		return nodes, nil
	}
	return named(nodes, scope.Node)
}

// Node returns the only node of that name.
func Node(s *view.Snapshot, scope Scope) (*view.Node, error) {
	nodes, err := Select(s, scope)
	if err != nil {
		return nil, err
	}
	if len(nodes) != 1 {
		return nil, &UnknownError{What: "node", Name: scope.Node}
	}
	return nodes[0], nil
}

// named returns the one node that has the name, else the one whose host has it.
func named(nodes []*view.Node, name string) ([]*view.Node, error) {
	found := filter(nodes, func(n *view.Node) bool { return n.Name == name })
	if len(found) == 0 {
		found = filter(nodes, func(n *view.Node) bool { return n.Host != nil && *n.Host == name })
	}
	switch len(found) {
	case 0:
		return nil, &UnknownError{What: "node", Name: name}
	case 1:
		return found, nil
	}
	return nil, ambiguous("node", name, found)
}

func ambiguous(kind, name string, nodes []*view.Node) *AmbiguousError {
	e := &AmbiguousError{What: kind, Name: name, Total: len(nodes)}
	for _, n := range nodes[:min(len(nodes), maxCandidates)] {
		e.Candidates = append(e.Candidates, ClusterName(n.Cluster)+"/"+n.Name)
	}
	return e
}

// ClusterName returns the name by which requests call a cluster.
func ClusterName(cluster *string) string {
	if cluster == nil {
		return NoCluster
	}
	return *cluster
}

func cluster(s *view.Snapshot, name string) *view.Cluster {
	i := slices.IndexFunc(s.Clusters, func(c view.Cluster) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Clusters[i]
}

func hasGPU(nodes []*view.Node) bool {
	return slices.ContainsFunc(nodes, func(n *view.Node) bool { return len(n.GPUs) > 0 })
}

func filter[T any](all []T, keep func(T) bool) []T {
	var result []T
	for _, v := range all {
		if keep(v) {
			result = append(result, v)
		}
	}
	return result
}
