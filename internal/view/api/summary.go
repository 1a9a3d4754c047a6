// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

func summaryTable() *table[view.Summary] {
	return &table[view.Summary]{
		key: func(s view.Summary) string {
			return keyOf(textOf(s.Cluster), textOf(s.Namespace), textOf(s.Group), textOf(s.Kind), textOf(s.Node))
		},
		columns: []column[view.Summary]{
			{"by", func(s view.Summary) any { return s.By }},
			{"group", func(s view.Summary) any { return s.Group }},
			{"cluster", func(s view.Summary) any { return s.Cluster }},
			{"namespace", func(s view.Summary) any { return s.Namespace }},
			{"kind", func(s view.Summary) any { return s.Kind }},
			{"node", func(s view.Summary) any { return s.Node }},
			{"nodes", func(s view.Summary) any { return s.Nodes }},
			{"unreadable_nodes", func(s view.Summary) any { return s.UnreadableNodes }},
			{"stale_nodes", func(s view.Summary) any { return s.StaleNodes }},
			{"gpus", func(s view.Summary) any { return s.GPUs }},
			{"health", func(s view.Summary) any { return worstHealth(&s) }},
			{"healthy", func(s view.Summary) any { return s.Healthy }},
			{"throttled", func(s view.Summary) any { return s.Throttled }},
			{"degraded", func(s view.Summary) any { return s.Degraded }},
			{"predicted_failure", func(s view.Summary) any { return s.PredictedFailure }},
			{"failed", func(s view.Summary) any { return s.Failed }},
			{"unknown", func(s view.Summary) any { return s.Unknown }},
			{"stale", func(s view.Summary) any { return s.Stale }},
			{"memory_total_bytes", func(s view.Summary) any { return s.Memory.Total }},
			{"memory_used_bytes", func(s view.Summary) any { return s.Memory.Used }},
			{"memory_free_bytes", func(s view.Summary) any { return s.Memory.Free }},
			{"memory_utilization", func(s view.Summary) any { return s.MemoryUtilization }},
			{"utilization", func(s view.Summary) any { return s.Utilization }},
			{"temperature_celsius", func(s view.Summary) any { return s.Temperature }},
			{"power_watts", func(s view.Summary) any { return s.Power }},
			{"power_limit_watts", func(s view.Summary) any { return s.PowerLimit }},
			{"processes", func(s view.Summary) any { return s.Processes }},
		},
	}
}

// worstHealth returns the worst health of GPUs, nil without GPUs. What cannot be read is unknown.
func worstHealth(s *view.Summary) any {
	counts := map[view.HealthClass]int{
		view.HealthFailed: s.Failed, view.HealthPredictedFailure: s.PredictedFailure, view.HealthDegraded: s.Degraded,
		view.HealthUnknown: s.Unknown + s.UnreadableNodes, view.HealthThrottled: s.Throttled, view.HealthStale: s.Stale, view.HealthOK: s.Healthy,
	}
	for _, health := range healthOrder {
		if counts[health] > 0 {
			return health
		}
	}
	return nil
}

func (h *Handler) summaryRoutes() []route.Route {
	groupBy := route.Parameter{
		Name: "by", Kind: route.Choice, Example: "cluster",
		Choices: []string{
			string(query.ByCluster), string(query.ByNode), string(query.ByNamespace), string(query.ByWorkload), string(query.ByModel),
		},
		Description: "One sum for each of these. Without it, one sum of everything.",
	}
	return []route.Route{listRoute(h, summaryTable(), route.Route{
		Path: "/api/v1/gpu/summary", ID: "listSummaries", Tag: "summary", Summary: "Sums and means",
		Description: "Nodes, GPUs, health (each GPU counts once: healthy, throttled, degraded, predicted_failure, failed, unknown or stale), memory, utilization, temperature and power. Without \"by\" the list contains one sum. Sums never count both a GPU and its partitions. " +
			"By namespace and by workload, they count what the namespace or the workload holds or uses: partitions, and GPUs without partitions. Other sums count the GPUs.",
		Parameters: []route.Parameter{clusterParameter(), nodeParameter(), groupBy},
	}, func(s *view.Snapshot, r *route.Request) ([]view.Summary, error) {
		nodes, err := query.Nodes(s, scope(r))
		if err != nil {
			return nil, err
		}
		return query.Summarize(scope(r), nodes, query.By(r.Text("by"))), nil
	})}
}
