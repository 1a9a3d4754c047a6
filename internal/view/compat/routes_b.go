// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"fmt"
	"net/http"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

func routesB(reader view.Reader) []route.Route {
	parameters := []route.Parameter{clusterParameter(), nodeParameter()}
	id := route.Parameter{
		Name: "id", Path: true, Required: true, Example: "0", Description: "The GPU: its index on the node. hw.id or the PCI address also works.",
	}
	machine := "The answer follows the format of an agent on one machine. If the exporter knows several nodes, the parameters say which one."
	return []route.Route{
		{
			Path: "/gpu/info", ID: "getInfoB", Tag: tag, Summary: "Whether there are GPUs, in form B",
			Description: "The answer covers all nodes if the parameters name no node.",
			Parameters:  parameters, Answer: InfoB{}, Problems: []int{http.StatusNotFound, http.StatusConflict},
			Serve: func(w http.ResponseWriter, r *route.Request) error {
				s := reader.Snapshot()
				nodes, err := query.Select(s, scope(r))
				if err != nil {
					return err
				}
				return writeJSON(w, route.JSON, FromInfoB(new(query.Info(s, scope(r), nodes)), nodes))
			},
		},
		{
			Path: "/gpu/metrics", ID: "getMetricsB", Tag: tag, Summary: "The GPUs of a machine with sums and means, in form B",
			Description: machine, Parameters: parameters, Answer: MetricsB{},
			Problems: []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable},
			Serve: func(w http.ResponseWriter, r *route.Request) error {
				n, err := machineOf(reader.Snapshot(), r)
				if err != nil {
					return err
				}
				return writeJSON(w, route.JSON, FromNodeB(n))
			},
		},
		{
			Path: "/gpu/metrics/{id}", ID: "getGPUB", Tag: tag, Summary: "One GPU of a machine, in form B",
			Description: machine, Parameters: append([]route.Parameter{id}, parameters...), Answer: GPUB{},
			Problems: []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable},
			Serve: func(w http.ResponseWriter, r *route.Request) error {
				n, err := machineOf(reader.Snapshot(), r)
				if err != nil {
					return err
				}
				nodes := []*view.Node{n}
				g, err := query.GPU(nodes, r.Text("id"))
				if err != nil {
					return err
				}
				return writeJSON(w, route.JSON, gpuB(&device{GPU: g, parts: query.Partitions(nodes, g)}))
			},
		},
	}
}

// maxCandidates bounds the names in the answer to a request that does not say which machine.
const maxCandidates = 100

// machineOf returns the one node that a request asks for, and whose GPUs can be read. Form B names GPUs by their numbers on a machine, so
// it can show only one.
func machineOf(s *view.Snapshot, r *route.Request) (*view.Node, error) {
	nodes, err := query.Nodes(s, scope(r))
	if err != nil {
		return nil, err
	}
	switch len(nodes) {
	case 0:
		return nil, &query.UnreadableError{Reasons: append(query.Reasons(s, scope(r), nodes), "no node has sent anything")}
	case 1:
		n := nodes[0]
		return n, readable(s, query.Scope{Cluster: query.ClusterName(n.Cluster), Node: n.Name}, nodes)
	}
	p := route.Problem(http.StatusBadRequest, "Which machine?", fmt.Sprintf("the answer contains the GPUs of one machine, and %d are known", len(nodes)),
		"Give the parameter node, and also cluster if several clusters contain a node with this name.")
	for _, n := range nodes[:min(len(nodes), maxCandidates)] {
		p.Nodes = append(p.Nodes, query.ClusterName(n.Cluster)+"/"+n.Name)
	}
	return nil, p
}
