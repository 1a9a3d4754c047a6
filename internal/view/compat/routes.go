// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compat

import (
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
