// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

func teamTable() *table[*view.Team] {
	return &table[*view.Team]{
		order: "-idle_seconds",
		key: func(t *view.Team) string {
			return keyOf(textOf(t.Cluster), textOf(t.Namespace), textOf(t.Kind), textOf(t.Name), textOf(t.Node))
		},
		columns: []column[*view.Team]{
			{"by", func(t *view.Team) any { return t.By }},
			{"name", func(t *view.Team) any { return t.Name }},
			{"cluster", func(t *view.Team) any { return t.Cluster }},
			{"namespace", func(t *view.Team) any { return t.Namespace }},
			{"kind", func(t *view.Team) any { return t.Kind }},
			{"node", func(t *view.Team) any { return t.Node }},
			{"held", func(t *view.Team) any { return t.Held }},
			{"used", func(t *view.Team) any { return t.Used }},
			{"idle", func(t *view.Team) any { return t.Idle }},
			{"held_seconds", func(t *view.Team) any { return t.HeldTime }},
			{"idle_seconds", func(t *view.Team) any { return t.IdleTime }},
			{"power_watts", func(t *view.Team) any { return t.Power }},
			{"energy_joules", func(t *view.Team) any { return t.Energy }},
			{"since", func(t *view.Team) any { return t.Since }},
			{"gpus", func(t *view.Team) any { return t.GPUs }},
		},
	}
}

func (h *Handler) teamRoutes() []route.Route {
	by := route.Parameter{
		Name: "by", Kind: route.Choice, Default: string(query.ByNamespace), Example: string(query.ByNamespace),
		Choices:     []string{string(query.ByNamespace), string(query.ByAccount), string(query.ByWorkload), string(query.ByLabel)},
		Description: "One team for each namespace, each Slurm account, each workload, or each value of the label of pods that \"label\" names.",
	}
	label := route.Parameter{Name: "label", Description: "The label of pods, for by=label. The receiver sends labels that its setting owners::labels names."}
	return []route.Route{listRoute(h, teamTable(), route.Route{
		Path: "/api/v1/gpu/teams", ID: "listTeams", Tag: "workloads", Summary: "What teams hold, use and leave idle",
		Description: "What each team holds, uses and leaves idle now, and how much it has held, left idle and consumed since the collector started. " +
			"The time of a device that several containers hold is divided among them. Time in which a node was silent is not counted. " +
			"Of more workloads than max_gpus, those that ended longest ago are added to their namespace and account, without a name.",
		Parameters: []route.Parameter{clusterParameter(), by, label},
	}, func(s *view.Snapshot, r *route.Request) ([]*view.Team, error) {
		by, label := query.By(r.Text("by")), r.Text("label")
		if (by == query.ByLabel) != (label != "") {
			return nil, route.BadParameter("label", errors.New("give it with by=label, and only then"))
		}
		nodes, err := query.Select(s, scope(r))
		if err != nil {
			return nil, err
		}
		since, usage := h.reader.Usage()
		if cluster := r.Text("cluster"); cluster != "" {
			usage = slices.DeleteFunc(usage, func(u view.Usage) bool { return query.ClusterName(optional(u.Cluster)) != cluster })
		}
		return query.Teams(nodes, usage, since, by, label), nil
	})}
}

// optional returns nil for an empty text.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
