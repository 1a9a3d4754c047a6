// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

func problemTable() *table[view.Finding] {
	return &table[view.Finding]{
		key: func(f view.Finding) string {
			source := ""
			if f.Kind == "unreadable" { // one for each source; other details change with time
				source = f.Detail
			}
			return keyOf(strconv.Itoa(query.SeverityRank(f.Severity)), textOf(f.Cluster), textOf(f.Node), numberKey(f.Index), textOf(f.GPU), f.Kind, source)
		},
		columns: []column[view.Finding]{
			{"severity", func(f view.Finding) any { return f.Severity }},
			{"kind", func(f view.Finding) any { return f.Kind }},
			{"cluster", func(f view.Finding) any { return f.Cluster }},
			{"node", func(f view.Finding) any { return f.Node }},
			{"gpu", func(f view.Finding) any { return f.GPU }},
			{"index", func(f view.Finding) any { return f.Index }},
			{"what", func(f view.Finding) any { return f.What }},
			{"detail", func(f view.Finding) any { return f.Detail }},
			{"remedy", func(f view.Finding) any { return f.Remedy }},
		},
	}
}

func (h *Handler) problemRoutes() []route.Route {
	return []route.Route{listRoute(h, problemTable(), route.Route{
		Path: "/api/v1/gpu/problems", ID: "listProblems", Tag: "problems", Summary: "What is wrong, and what to do",
		Description: "GPUs that have failed, are degraded or throttled, or reported errors; nodes that are silent or miss GPUs; sources that cannot be read. " +
			"The worst come first. A GPU at its power limit works as it should and is not listed.",
		Parameters: []route.Parameter{clusterParameter(), nodeParameter()},
	}, func(s *view.Snapshot, r *route.Request) ([]view.Finding, error) {
		nodes, err := query.Select(s, scope(r))
		if err != nil {
			return nil, err
		}
		return query.Findings(s, scope(r), nodes), nil
	})}
}
