// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// The groups of teams, besides ByNamespace and ByWorkload.
const (
	ByAccount By = "slurm_account"
	ByLabel   By = "label"
)

// Teams returns what each team on nodes holds and uses now, and what it has held and used since a time: the team of each namespace,
// account or workload, or of each value of a label. Users of whom nothing is known are in no team.
func Teams(nodes []*view.Node, usage []view.Usage, since time.Time, grouping By, label string) []*view.Team {
	all := workloads{byOwner: map[Owner]*workload{}, groupOf: func(u *view.User, n *view.Node) (Owner, bool) {
		owner, ok := OwnerOf(u, n)
		return teamOf(owner, text(u.SlurmAccount), u.Labels, grouping, label), ok
	}}
	all.addNodes(nodes)
	totals := map[Owner]*past{}
	for i := range usage {
		u := &usage[i]
		owner := Owner{Cluster: u.Cluster, Node: u.Node, Namespace: u.Namespace, Kind: u.Kind, Name: u.Workload}
		owner = teamOf(owner, u.Account, u.Labels, grouping, label)
		all.workload(owner) // a team that uses nothing now is listed, too
		totals[owner] = totals[owner].add(u)
	}
	teams := make([]*view.Team, 0, len(all.order))
	for _, w := range all.order {
		now := w.workload()
		team := &view.Team{
			By: string(grouping), Name: optional(now.Name), Cluster: now.Cluster, Namespace: now.Namespace, Kind: now.Kind, Node: now.Node,
			Held: now.Held, Used: now.Used, Idle: now.Idle, Power: now.Power, Since: since, GPUs: append([]string{}, now.GPUs...),
		}
		if p := totals[w.owner]; p != nil {
			team.HeldTime, team.IdleTime, team.Energy = p.held.value(), p.idle.value(), p.energy.value()
		}
		teams = append(teams, team)
	}
	return teams
}

// past adds up what a team has held and used.
type past struct{ held, idle, energy sum }

func (p *past) add(u *view.Usage) *past {
	if p == nil {
		p = &past{}
	}
	if u.Held > 0 {
		p.held.add(&u.Held)
	}
	p.idle.add(u.Idle)
	p.energy.add(u.Energy)
	return p
}

// teamOf returns the team of a workload. The name is empty for a workload without the grouping's name.
func teamOf(o Owner, account string, labels map[string]string, grouping By, label string) Owner {
	switch grouping {
	case ByNamespace:
		return Owner{Cluster: o.Cluster, Namespace: o.Namespace, Name: o.Namespace}
	case ByAccount:
		return Owner{Cluster: o.Cluster, Name: account}
	case ByLabel:
		return Owner{Cluster: o.Cluster, Name: labels[label]}
	default:
		return o
	}
}
