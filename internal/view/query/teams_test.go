// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// The namespace ml holds two GPUs, of which one is idle, and uses a third without holding it. The Slurm job has ended.
func TestTeams(t *testing.T) {
	s := viewtest.Snapshot()
	s.Nodes[3].GPUs[0].Containers[0].Labels = map[string]string{"team": "vision"}
	since, usage := viewtest.NewReader(s).Usage()
	teams := Teams(s.Nodes, usage, since, ByNamespace, "")
	require.Len(t, teams, 2)
	ml := view.Team{
		By: "namespace", Name: new("ml"), Cluster: new("prod"), Namespace: new("ml"), Held: new(2), Used: 2, Idle: new(1),
		HeldTime: new(7200.0), IdleTime: new(1800.0), Power: new(640.0), Energy: new(3.6e6), Since: since, GPUs: []string{"GPU-n1-0", "GPU-n1-1", "GPU-n1-2"},
	}
	assert.Equal(t, &ml, teams[0])
	assert.Equal(t, &view.Team{By: "namespace", HeldTime: new(600.0), Since: since, GPUs: []string{}}, teams[1])

	names := func(by By, label string) map[string]float64 {
		held := map[string]float64{}
		for _, team := range Teams(s.Nodes, usage, since, by, label) {
			held[text(team.Name)] = -1
			if team.HeldTime != nil {
				held[text(team.Name)] = *team.HeldTime
			}
		}
		return held
	}
	assert.Equal(t, map[string]float64{"": 7200, "physics": 600}, names(ByAccount, ""))
	assert.Equal(t, map[string]float64{"train": 7200, "<script>alert(1)</script>": -1, "7": 600}, names(ByWorkload, ""))
	labelled := Teams(s.Nodes, usage, since, ByLabel, "team")
	assert.Equal(t, "vision", *labelled[0].Name)
	assert.Equal(t, []string{"GPU-n1-0"}, labelled[0].GPUs)

	assert.Len(t, filter(GPUs(s.Nodes), UserFilter{Label: "team=vision"}.MatchesGPU), 1)
	assert.Len(t, filter(GPUs(s.Nodes), UserFilter{Workload: "train", Kind: "StatefulSet"}.MatchesGPU), 2)
	assert.Empty(t, filter(GPUs(s.Nodes), UserFilter{Account: "physics"}.MatchesGPU))
	assert.Equal(t, "train", *Holder(s.Nodes[3].GPUs[0]))
	assert.Equal(t, viewtest.Now.Add(-2*3600e9), *IdleSince(s.Nodes[3].GPUs[1]))
}
