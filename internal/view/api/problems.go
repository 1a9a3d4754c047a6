// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

func problemTable() *table[view.Finding] {
	return &table[view.Finding]{
		key: func(f view.Finding) string {
			end := ""
			if f.End != nil {
				end = f.End.UTC().Format(time.RFC3339Nano)
			}
			return keyOf(strconv.Itoa(query.SeverityRank(f.Severity)), textOf(f.Cluster), textOf(f.Node), numberKey(f.Index), f.Key(), end)
		},
		columns: []column[view.Finding]{
			{"severity", func(f view.Finding) any { return f.Severity }},
			{"kind", func(f view.Finding) any { return f.Kind }},
			{"cluster", func(f view.Finding) any { return f.Cluster }},
			{"node", func(f view.Finding) any { return f.Node }},
			{"gpu", func(f view.Finding) any { return f.GPU }},
			{"index", func(f view.Finding) any { return f.Index }},
			{"what", func(f view.Finding) any { return f.What }},
			{"begin", func(f view.Finding) any { return f.Begin }},
			{"begin_known", func(f view.Finding) any { return f.BeginKnown }},
			{"end", func(f view.Finding) any { return f.End }},
			{"age_seconds", func(f view.Finding) any { return f.Age }},
			{"workloads", func(f view.Finding) any { return f.Workloads }},
			{"detail", func(f view.Finding) any { return f.Detail }},
			{"consequence", func(f view.Finding) any { return f.Consequence }},
			{"remedy", func(f view.Finding) any { return f.Remedy }},
			{"runbook", func(f view.Finding) any { return f.Runbook }},
		},
	}
}

func (h *Handler) problemRoutes() []route.Route {
	severity := route.Parameter{
		Name: "severity", Kind: route.Choice, Choices: []string{string(view.SeverityInfo), string(view.SeverityWarning), string(view.SeverityError)},
		Description: "Only problems of this severity or a higher one.",
	}
	state := route.Parameter{
		Name: "state", Kind: route.Choice, Choices: []string{"present", "ended"}, Default: "present",
		Description: "What is wrong now, or what was wrong and ended: the last 1,000, until the collector restarts.",
	}
	kind := route.Parameter{Name: "kind", Example: "stale", Description: "Only problems of this kind."}
	return []route.Route{listRoute(h, problemTable(), route.Route{
		Path: "/api/v1/gpu/problems", ID: "listProblems", Tag: "problems", Summary: "What is wrong, and what to do",
		Description: "GPUs that have failed, are degraded or throttled, or reported errors; nodes that are silent or miss GPUs; sources that cannot be read. " +
			"The worst come first. A GPU at its power limit works as it should and is not listed.",
		Parameters: []route.Parameter{clusterParameter(), nodeParameter(), severity, kind, state},
	}, func(s *view.Snapshot, r *route.Request) ([]view.Finding, error) {
		nodes, err := query.Select(s, scope(r))
		if err != nil {
			return nil, err
		}
		worst, kind := query.SeverityRank(view.Severity(cmp.Or(r.Text("severity"), string(view.SeverityInfo)))), r.Text("kind")
		var found []view.Finding
		if r.Text("state") == "ended" {
			found = slices.DeleteFunc(slices.Clone(h.reader.Ended()), func(f view.Finding) bool {
				return scope(r).Cluster != "" && query.ClusterName(f.Cluster) != scope(r).Cluster || scope(r).Node != "" && textOf(f.Node) != scope(r).Node
			})
		} else {
			found = query.Findings(s, scope(r), nodes)
		}
		return slices.DeleteFunc(found, func(f view.Finding) bool {
			return query.SeverityRank(f.Severity) > worst || kind != "" && f.Kind != kind
		}), nil
	})}
}
