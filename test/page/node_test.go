// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

func rows(p *tab) [][]string {
	p.t.Helper()
	p.until(`document.querySelector("main tbody tr")`)
	return eval[[][]string](p, `[...document.querySelector("main table").querySelectorAll("tbody tr")].map(r => [...r.children].map(c => c.innerText.trim()))`)
}

func TestNodes(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/#/nodes")
	var want [][]string
	for _, s := range ask[view.List[view.Summary]](p, "summary?by=node").Items {
		processes := dash
		if s.Processes != nil {
			processes = grouped(*s.Processes)
		}
		want = append(want, []string{
			*s.Group, or(s.Cluster, dash), map[string]string{
				"workstation": "stale", "n1": map[bool]string{true: "throttled", false: "ok"}[s.Throttled > 0], "empty": "no GPU", "n2": "GPU failed", "unread": "cannot be read",
			}[*s.Group], grouped(s.GPUs), grouped(s.Failed), percent(s.Utilization), percent(s.MemoryUtilization), watts(s.Power), processes,
		})
	}
	assert.Equal(t, want, rows(p))
}

func TestDividedNode(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/#/node?cluster=prod&node=n2")
	n := ask[view.Node](p, "nodes/prod/n2")
	all := rows(p)
	assert.Len(t, all, len(n.GPUs))
	for i, g := range n.GPUs {
		assert.Equal(t, percent(g.Utilization.General), all[i][3], g.ID)
		temperature := dash
		if len(g.Temperatures) > 0 {
			temperature = celsius(g.Temperatures[0].Celsius)
		}
		assert.Equal(t, temperature, all[i][5], g.ID)
	}
	assert.Equal(t, "3g.20gb 0", all[1][0], "a partition stands behind its package")
	assert.Equal(t, "failed\nlost", all[3][2])
}

func TestNodeWithoutGPUAndUnreadableNode(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/#/node?cluster=prod&node=empty")
	p.until(`document.querySelector("main").innerText.includes("This node has no GPU.")`)
	assert.Contains(t, p.text("main"), "nvml (NVIDIA): no GPU found")
	assert.NotContains(t, p.text("main"), "readable")
	p.visit("/#/node?cluster=prod&node=unread")
	p.until(`document.querySelector("main").innerText.includes("The node cannot be read")`)
	main := p.text("main")
	assert.Contains(t, main, "kubernetes_exec: timeout")
	assert.Contains(t, main, "Its GPUs are unknown")
	assert.NotContains(t, main, "This node has no GPU.")
	// The one without a cluster, and a name that is in two.
	p.visit("/#/node?node=workstation")
	p.until(`document.querySelector("main h1")?.innerText === "workstation"`)
	p.visit("/#/node?cluster=lab&node=n1")
	p.until(`document.querySelectorAll("main tbody tr").length === 2`)
}

func TestWorkloads(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/#/workloads")
	want := map[string][]string{}
	for _, w := range ask[view.List[*view.Workload]](p, "workloads").Items {
		held, idle := dash, dash
		if w.Held != nil {
			held = grouped(*w.Held)
		}
		if w.Idle != nil {
			idle = grouped(*w.Idle)
			if *w.Idle > 0 {
				idle += " idle"
			}
		}
		want[or(w.Kind, "")+" "+w.Name] = []string{held, grouped(w.Used), idle}
	}
	shown := map[string][]string{}
	for _, row := range rows(p) {
		shown[row[0]] = row[4:7]
	}
	assert.Equal(t, want, shown)
}
