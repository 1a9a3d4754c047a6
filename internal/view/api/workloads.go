// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

func workloadTable() *table[*view.Workload] {
	return &table[*view.Workload]{
		key: func(l *view.Workload) string {
			return keyOf(textOf(l.Cluster), textOf(l.Namespace), textOf(l.Kind), l.Name, textOf(l.Node))
		},
		columns: []column[*view.Workload]{
			{"cluster", func(l *view.Workload) any { return l.Cluster }},
			{"node", func(l *view.Workload) any { return l.Node }},
			{"namespace", func(l *view.Workload) any { return l.Namespace }},
			{"kind", func(l *view.Workload) any { return l.Kind }},
			{"name", func(l *view.Workload) any { return l.Name }},
			{"pods", func(l *view.Workload) any { return l.Pods }},
			{"held", func(l *view.Workload) any { return l.Held }},
			{"used", func(l *view.Workload) any { return l.Used }},
			{"idle", func(l *view.Workload) any { return l.Idle }},
			{"memory_bytes", func(l *view.Workload) any { return l.Memory }},
			{"power_watts", func(l *view.Workload) any { return l.Power }},
			{"energy_joules", func(l *view.Workload) any { return l.Energy }},
			{"idle_since", func(l *view.Workload) any { return l.IdleSince }},
			{"idle_seconds", func(l *view.Workload) any { return l.IdleTime }},
			{"gpus", func(l *view.Workload) any { return l.GPUs }},
		},
	}
}

func (h *Handler) workloadRoutes() []route.Route {
	return []route.Route{listRoute(h, workloadTable(), route.Route{
		Path: "/api/v1/gpu/workloads", ID: "listWorkloads", Tag: "workloads", Summary: "What workloads hold and use",
		Description: "Each workload that holds or uses a GPU: a job of a batch system, what owns its pods, a pod without owner, a systemd unit, a container or a guest. " +
			"A device is idle if the workload holds it and has not used it for a time (idle_threshold, idle_after). idle_seconds is a counter: what its devices were " +
			"held without use, in sum.",
		Parameters: []route.Parameter{clusterParameter(), nodeParameter(), namespaceParameter(), podParameter()},
	}, func(s *view.Snapshot, r *route.Request) ([]*view.Workload, error) {
		nodes, err := query.Nodes(s, scope(r))
		return query.Workloads(nodes, users(r)), err
	})}
}
