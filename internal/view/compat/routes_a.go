// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"iter"
	"net/http"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// FormA and FormTypeA select form A, as the value of the query parameter form and as a media type in Accept.
const (
	FormA     = "a"
	FormTypeA = "application/vnd.gpu.a+json"
)

// typeA returns the media type of an answer in form A: plain JSON unless Accept selects the form.
func typeA(r *route.Request) string {
	if r.URL.Query().Has("form") || !route.Names(r.Header.Values("Accept"), FormTypeA) {
		return route.JSON
	}
	return FormTypeA
}

func routesA(reader view.Reader) []route.Route {
	path := route.Parameter{Name: "node", Path: true, Required: true, Example: "n2", Description: "The node's name (k8s.node.name, or host.name)."}
	inCluster := route.Parameter{Name: "cluster", Path: true, Required: true, Example: "prod", Description: "The node's cluster (k8s.cluster.name)."}
	one := func(w http.ResponseWriter, r *route.Request) error {
		n, err := query.Node(reader.Snapshot(), scope(r))
		if err != nil {
			return err
		}
		return writeJSON(w, typeA(r), FromNodeA(n))
	}
	all := []route.Route{
		{
			Path: "/api/v1/gpu/nodes", ID: "listNodesA", Summary: "Nodes and their GPUs, in form A",
			Parameters: []route.Parameter{clusterParameter(), nodeParameter()}, Answer: []NodeA{},
			Serve: func(w http.ResponseWriter, r *route.Request) error {
				nodes, err := query.Nodes(reader.Snapshot(), scope(r))
				if err != nil {
					return err
				}
				return writeList(w, r, typeA(r), "[", nodesA(nodes), "]")
			},
		},
		{
			Path: "/api/v1/gpu/nodes/{node}", ID: "getNodeA", Summary: "One node, in form A",
			Parameters: []route.Parameter{path, clusterParameter()}, Answer: NodeA{}, Serve: one,
		},
		{
			Path: "/api/v1/gpu/nodes/{cluster}/{node}", ID: "getNodeOfClusterA", Summary: "One node of a cluster, in form A",
			Parameters: []route.Parameter{inCluster, path}, Answer: NodeA{}, Serve: one,
		},
		{
			Path: "/api/v1/gpu/processes", ID: "listProcessesA", Summary: "Processes on GPUs, in form A",
			Parameters: []route.Parameter{clusterParameter(), nodeParameter()}, Answer: []ProcessA{},
			Serve: func(w http.ResponseWriter, r *route.Request) error {
				nodes, err := query.Nodes(reader.Snapshot(), scope(r))
				if err != nil {
					return err
				}
				return writeList(w, r, typeA(r), "[", processesA(nodes), "]")
			},
		},
		{
			Path: "/api/v1/gpu/summary", ID: "getSummaryA", Summary: "Sums and means of a cluster or of everything, in form A",
			Parameters: []route.Parameter{clusterParameter()}, Answer: SummaryA{},
			Serve: func(w http.ResponseWriter, r *route.Request) error {
				nodes, err := query.Nodes(reader.Snapshot(), scope(r))
				if err != nil {
					return err
				}
				return writeJSON(w, typeA(r), FromSummaryA(&query.Summarize(scope(r), nodes, query.ByNothing)[0]))
			},
		},
	}
	for i := range all {
		all[i].Tag, all[i].Form, all[i].FormType = tag, FormA, FormTypeA
		all[i].Problems = []int{http.StatusNotFound, http.StatusConflict}
		all[i].Description = "The answer has the form of a fleet's collector. A list has no pages: it contains all entries that the parameters select."
	}
	return all
}

func nodesA(nodes []*view.Node) iter.Seq[NodeA] {
	return func(yield func(NodeA) bool) {
		for _, n := range nodes {
			if !yield(FromNodeA(n)) {
				return
			}
		}
	}
}

func processesA(nodes []*view.Node) iter.Seq[ProcessA] {
	return func(yield func(ProcessA) bool) {
		for _, n := range nodes {
			for _, d := range devices(n) {
				for _, p := range d.processes() {
					if !yield(FromProcessA(p, d.Index)) {
						return
					}
				}
			}
		}
	}
}
