// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

const tag = "compatible forms"

// Routes returns the routes of the forms. Form A is another form of paths of the API, B and C have paths of their own.
func Routes(reader view.Reader) []route.Route {
	return slices.Concat(routesA(reader), routesB(reader), routesC(reader))
}

func clusterParameter() route.Parameter {
	return route.Parameter{
		Name: "cluster", Alias: "cluster_id", Example: "prod",
		Description: "Only of this cluster (k8s.cluster.name). \"-\" stands for nodes outside clusters.",
	}
}

func nodeParameter() route.Parameter {
	return route.Parameter{
		Name: "node", Alias: "node_name", Example: "n2", Description: "Only of this node (k8s.node.name, or host.name).",
	}
}

// scope is the part of the fleet that a request asks for.
func scope(r *route.Request) query.Scope {
	return query.Scope{Cluster: r.Text("cluster"), Node: r.Text("node")}
}

// readable is as query.Readable. It also refuses nodes without any GPU: forms B and C have no answer for them.
func readable(s *view.Snapshot, queryScope query.Scope, nodes []*view.Node) error {
	if err := query.Readable(s, queryScope, nodes); err != nil {
		return err
	}
	if slices.ContainsFunc(nodes, func(n *view.Node) bool { return len(n.GPUs) > 0 }) {
		return nil
	}
	detail := fmt.Sprintf("%d nodes, all without a GPU", len(nodes))
	if len(nodes) == 1 {
		detail = query.ClusterName(nodes[0].Cluster) + "/" + nodes[0].Name + " lists no GPU"
	}
	return route.Problem(http.StatusServiceUnavailable, "No GPU", detail, "If a machine has a GPU, run otelgpu doctor on it: it says what is missing.")
}
