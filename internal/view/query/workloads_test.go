// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// train holds two GPUs and uses one; the pod with the odd name uses one that is unallocated.
func TestWorkloads(t *testing.T) {
	nodes, err := Nodes(viewtest.Snapshot(), Scope{})
	require.NoError(t, err)
	got := Workloads(nodes, UserFilter{})
	require.Len(t, got, 2)
	assert.Equal(t, &view.Workload{
		Cluster: new("prod"), Namespace: new("ml"), Kind: new("StatefulSet"), Name: "train", Pods: 1, Held: new(2), Used: 1, Idle: new(1),
		Memory: new(60.0 * gib), Power: new(640.0), Energy: new(640.0 * 3600), IdleTime: new(0.0), IdleSince: new(viewtest.Now.Add(-2 * time.Hour)), GPUs: []string{"GPU-n1-0", "GPU-n1-1"},
	}, got[0])
	assert.Equal(t, &view.Workload{
		Cluster: new("prod"), Namespace: new("ml"), Kind: new("Pod"), Name: "<script>alert(1)</script>", Pods: 1, Used: 1,
		Memory: new(20.0 * gib), GPUs: []string{"GPU-n1-2"},
	}, got[1])

	assert.Len(t, Workloads(nodes, UserFilter{Pod: "train-0"}), 1)
	assert.Empty(t, Workloads(nodes, UserFilter{Namespace: "other"}))
	assert.NotNil(t, Workloads(nil, UserFilter{}), "an empty list is no null")
}

// A device is neither used nor idle if only its holder is known.
func TestWorkloadOnUnreadDevice(t *testing.T) {
	nodes := viewtest.Snapshot().Nodes
	for _, n := range nodes {
		for _, g := range n.GPUs {
			g.Processes, g.Utilization = nil, view.Utilization{}
			for _, c := range g.Containers {
				c.Memory, c.Utilization, c.IdleSince = nil, nil, nil
			}
		}
	}
	got := Workloads(nodes, UserFilter{Pod: "train-0"})
	require.Len(t, got, 1)
	assert.Equal(t, new(2), got[0].Held)
	assert.Zero(t, got[0].Used)
	assert.Nil(t, got[0].Idle)
}

// A workload is an owner of pods on several nodes. A workload without pods is one on each node.
func TestWorkloadsOnSeveralNodes(t *testing.T) {
	s := viewtest.Snapshot()
	pod := func(uid string) view.User {
		return view.User{Namespace: new("ml"), Pod: new("p"), PodUID: new(uid), WorkloadKind: new("Job"), Workload: new("j")}
	}
	users := []view.User{
		{SlurmJob: new("17")}, {SystemdUnit: new("ollama.service")}, {ContainerID: new("c0ffee")}, {}, // the last has no workload
	}
	for i, n := range s.Nodes[3:5] {
		n.GPUs = n.GPUs[:1]
		g := n.GPUs[0]
		g.Containers, g.Processes = nil, []*view.Process{{User: pod([]string{"a", "b"}[i]), PID: 1, Memory: new(1.0)}}
		for j, u := range users {
			g.Processes = append(g.Processes, &view.Process{User: u, PID: 10 + j, Memory: new(2.0)})
		}
	}
	type row struct {
		kind, name, node string
		pods, used       int
		memory           float64
	}
	var got []row
	for _, w := range Workloads(s.Nodes[3:5], UserFilter{}) {
		got = append(got, row{text(w.Kind), w.Name, text(w.Node), w.Pods, w.Used, *w.Memory})
		assert.Nil(t, w.Held, "nothing says what it holds")
	}
	assert.Equal(t, []row{
		{"Job", "j", "", 2, 2, 2},
		{KindSlurmJob, "17", "n1", 0, 1, 2},
		{KindSystemdUnit, "ollama.service", "n1", 0, 1, 2},
		{KindContainer, "c0ffee", "n1", 0, 1, 2},
		{KindSlurmJob, "17", "n2", 0, 1, 2},
		{KindSystemdUnit, "ollama.service", "n2", 0, 1, 2},
		{KindContainer, "c0ffee", "n2", 0, 1, 2},
	}, got)
}

// The sums by workload are of the same workloads, with the same devices and processes.
func TestWorkloadsAndSummaryAgree(t *testing.T) {
	nodes, err := Nodes(viewtest.Snapshot(), Scope{})
	require.NoError(t, err)
	byName := map[string]int{}
	for _, s := range Summarize(Scope{}, nodes, ByWorkload) {
		byName[text(s.Group)] = s.GPUs
	}
	delete(byName, "")
	for _, w := range Workloads(nodes, UserFilter{}) {
		assert.Len(t, w.GPUs, byName[w.Name], w.Name)
		delete(byName, w.Name)
	}
	assert.Empty(t, byName)
}
