// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

func nodeTable() *table[*view.Node] {
	return &table[*view.Node]{
		key: func(n *view.Node) string { return keyOf(textOf(n.Cluster), n.Name) },
		columns: []column[*view.Node]{
			{"cluster", func(n *view.Node) any { return n.Cluster }},
			{"name", func(n *view.Node) any { return n.Name }},
			{"host", func(n *view.Node) any { return n.Host }},
			{"state", func(n *view.Node) any { return n.State }},
			{"readable", func(n *view.Node) any { return n.Readable }},
			{"reasons", func(n *view.Node) any { return sourceReasons(n.Sources) }},
			{"last_seen", func(n *view.Node) any { return n.LastSeen }},
			{"interval_seconds", func(n *view.Node) any { return n.Interval }},
			{"drivers", func(n *view.Node) any { return driverNames(n.Drivers) }},
			{"gpu_count", func(n *view.Node) any { return n.GPUCount }},
			{"missing", func(n *view.Node) any { return n.Missing }},
			{"unmanaged", func(n *view.Node) any { return n.Unmanaged }},
			{"memory_total_bytes", func(n *view.Node) any { return n.Memory.Total }},
			{"memory_used_bytes", func(n *view.Node) any { return n.Memory.Used }},
			{"memory_free_bytes", func(n *view.Node) any { return n.Memory.Free }},
			{"memory_utilization", func(n *view.Node) any { return n.Memory.Utilization }},
		},
	}
}

func sourceReasons(sources []view.Source) []string {
	var all []string
	for _, s := range sources {
		for _, reason := range s.Reasons {
			all = append(all, s.Name+": "+reason)
		}
	}
	return all
}

func driverNames(drivers []view.Driver) []string {
	var all []string
	for _, d := range drivers {
		all = append(all, d.Vendor+" "+d.Version)
	}
	return all
}

// nodePath returns the parameters of a path that names a node.
func nodePath() (cluster, node route.Parameter) {
	node = route.Parameter{Name: "node", Path: true, Required: true, Example: "n2", Description: "The node's name (k8s.node.name, or host.name)."}
	cluster = route.Parameter{
		Name: "cluster", Path: true, Required: true, Example: "prod",
		Description: "The node's cluster (k8s.cluster.name). \"-\" stands for nodes outside clusters.",
	}
	return cluster, node
}

func (h *Handler) nodeRoutes() []route.Route {
	state := route.Parameter{
		Name: "state", Kind: route.Choice, Choices: []string{string(view.Live), string(view.Stale)},
		Description: "Only nodes in this state. A node is stale after three intervals without a message.",
	}
	inCluster, path := nodePath()
	return []route.Route{
		listRoute(h, nodeTable(), route.Route{
			Path: "/api/v1/gpu/nodes", ID: "listNodes", Tag: "nodes", Summary: "Nodes and their GPUs",
			Description: "Each node with its GPUs, their processes and containers, sums of memory, labels, drivers, and its sources: readable, or why not.",
			Parameters:  []route.Parameter{clusterParameter(), nodeParameter(), state},
		}, func(s *view.Snapshot, r *route.Request) ([]*view.Node, error) {
			nodes, err := query.Nodes(s, scope(r))
			return inState(nodes, view.State(r.Text("state"))), err
		}),
		{
			Path: "/api/v1/gpu/nodes/{node}", ID: "getNode", Tag: "nodes", Summary: "One node",
			Description: "A node by its name. If several clusters contain a node with this name, the answer is 409 and names them.",
			Parameters:  []route.Parameter{path, clusterParameter()},
			Answer:      view.Node{}, EntityTag: true, Problems: []int{http.StatusNotFound, http.StatusConflict}, Serve: h.node,
		},
		{
			Path: "/api/v1/gpu/nodes/{cluster}/{node}", ID: "getNodeOfCluster", Tag: "nodes", Summary: "One node of a cluster",
			Parameters: []route.Parameter{inCluster, path},
			Answer:     view.Node{}, EntityTag: true, Problems: []int{http.StatusNotFound, http.StatusConflict}, Serve: h.node,
		},
	}
}

func inState(nodes []*view.Node, state view.State) []*view.Node {
	if state == "" {
		return nodes
	}
	var result []*view.Node
	for _, n := range nodes {
		if n.State == state {
			result = append(result, n)
		}
	}
	return result
}

func (h *Handler) node(w http.ResponseWriter, r *route.Request) error {
	s, changed := h.snapshot(w, r)
	if !changed {
		return nil
	}
	n, err := query.Node(s, scope(r))
	if err != nil {
		return err
	}
	return writeJSON(w, n)
}
