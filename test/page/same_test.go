// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"net/url"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// same waits until what the page shows equals what the API says. The page asks the API some time after a change.
func same[T any](p *tab, subject string, said, shown func() T) {
	p.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		want, got := said(), shown()
		if assert.ObjectsAreEqual(want, got) {
			return
		}
		if time.Now().After(end) {
			require.Equal(p.t, want, got, subject)
		}
	}
}

// eventually waits until a condition holds.
func (p *tab) eventually(subject string, condition func() bool) {
	p.t.Helper()
	same(p, subject, func() bool { return true }, condition)
}

// sameFleet compares the totals, on any view, and the tiles, on the view of the fleet.
func sameFleet(p *tab) {
	p.t.Helper()
	same(p, "totals", func() map[string]string { return saidTotals(p) }, func() map[string]string { return shownTotals(p) })
	if eval[bool](p, `location.hash === "" || location.hash.startsWith("#/fleet")`) {
		same(p, "tiles", func() map[string]string { return saidTiles(p) }, func() map[string]string { return shownTiles(p) })
	}
}

// sameViews visits the views of nodes, of each node and GPU, and of problems, and compares each with the API.
func sameViews(p *tab) {
	p.t.Helper()
	p.visit("/#/nodes")
	same(p, "nodes", func() [][]string { return saidNodes(p) }, func() [][]string { return tableRows(p, "Nodes") })
	for _, n := range ask[view.List[*view.Node]](p, "nodes").Items {
		p.visit("/#/node?" + url.Values{"node": {n.Name}, "cluster": {or(n.Cluster, "")}}.Encode())
		sameNode(p, n)
		for _, g := range n.GPUs {
			p.visit("/#/gpu?id=" + escape(g.ID))
			sameGPU(p, g.ID)
		}
	}
	p.visit("/#/problems")
	sameProblems(p)
}

func sameNode(p *tab, n *view.Node) {
	p.t.Helper()
	path := "nodes/" + or(n.Cluster, "-") + "/" + n.Name
	same(p, n.Name+": GPUs", func() [][]string {
		rows := [][]string{}
		for _, g := range ask[view.Node](p, path).GPUs {
			rows = append(rows, gpuRow(g))
		}
		return rows
	}, func() [][]string { return tableRows(p, "GPUs of "+place(n.Cluster, n.Name)) })
	same(p, n.Name+": facts", func() map[string]string { return nodeFacts(ask[view.Node](p, path)) },
		func() map[string]string { return pick(shownFacts(p), nodeFacts(*n)) })
	same(p, n.Name+": sources", func() []string { return sourceLines(ask[view.Node](p, path)) }, func() []string {
		return eval[[]string](p, `[...document.querySelectorAll("main ul.plain:not(.chart-list) li")].map(e => e.innerText.trim())`)
	})
}

// sameGPU compares the page of a GPU, which is shown.
func sameGPU(p *tab, id string) {
	p.t.Helper()
	metrics := func() view.GPUMetrics { return ask[view.GPUMetrics](p, "metrics/"+url.PathEscape(id)) }
	same(p, id+": readings", func() map[string]string { return readings(metrics()) }, func() map[string]string { return shownReadings(p) })
	same(p, id+": state", func() string { g := metrics(); return stateWord(g.GPU) },
		func() string { return p.text(".title .badge") })
	same(p, id+": identity", func() map[string]string { return identity(metrics()) },
		func() map[string]string { return pick(shownFacts(p), identity(metrics())) })
	same(p, id+": partitions and processes", func() []int { g := metrics(); return []int{len(g.Partitions), len(g.Processes)} },
		func() []int { return []int{len(tableRows(p, "Partitions")), len(tableRows(p, "Processes"))} })
}

// sameProblems compares the view of problems, which is shown.
func sameProblems(p *tab) {
	p.t.Helper()
	same(p, "problems", func() [][]string {
		rows := [][]string{}
		for _, f := range ask[view.List[view.Finding]](p, "problems").Items {
			location := "cluster " + or(f.Cluster, "")
			if f.Node != nil {
				location = place(f.Cluster, *f.Node)
			}
			if f.GPU != nil {
				location += " GPU " + grouped(*f.Index)
			}
			remedy := f.Remedy + " Runbook"
			if f.Kind == "stale" {
				remedy += " Hide this node"
			}
			rows = append(rows, []string{f.What, location, since(&f), workloads(&f), f.Detail + " " + f.Consequence, remedy})
		}
		return rows
	}, func() [][]string { return tableRows(p, "Problems") })
}

func saidTotals(p *tab) map[string]string {
	p.t.Helper()
	sum := ask[view.List[view.Summary]](p, "summary").Items[0]
	return map[string]string{
		"gpus": grouped(sum.GPUs), "healthy": grouped(sum.Healthy), "failed": grouped(sum.Failed), "utilization": percent(sum.Utilization),
		"memory": percent(sum.MemoryUtilization), "power": watts(sum.Power), "problems": grouped(ask[view.List[view.Finding]](p, "problems?severity=warning&limit=1").Total),
	}
}

func shownTotals(p *tab) map[string]string {
	p.t.Helper()
	return eval[map[string]string](p, `Object.fromEntries([...document.querySelectorAll("[data-total]")].map(e => [e.dataset.total, e.querySelector(".total-value").innerText]))`)
}

func saidTiles(p *tab) map[string]string {
	p.t.Helper()
	gpus, parts := ask[view.Metrics](p, "metrics?limit=1000").GPUs, map[string][]*view.GPU{}
	for _, g := range gpus {
		if g.Parent != nil {
			parts[*g.Parent] = append(parts[*g.Parent], g)
		}
	}
	tiles := map[string]string{}
	for _, g := range gpus {
		if g.Parent == nil {
			tiles[g.ID] = tileName(g, parts[g.ID])
		}
	}
	return tiles
}

func shownTiles(p *tab) map[string]string {
	p.t.Helper()
	return eval[map[string]string](p, `Object.fromEntries([...document.querySelectorAll("a.tile")].map(e => [e.dataset.id, e.querySelector(".hidden").textContent]))`)
}

func saidNodes(p *tab) [][]string {
	p.t.Helper()
	rows := [][]string{}
	for _, s := range ask[view.List[view.Summary]](p, "summary?by=node").Items {
		var states []string
		if s.UnreadableNodes > 0 {
			states = append(states, "cannot be read")
		}
		for _, state := range []struct {
			n    int
			word string
		}{{s.Failed, "GPU failed"}, {s.PredictedFailure, "failure predicted"}, {s.Degraded, "GPU degraded"}, {s.Throttled, "throttled"}} {
			if state.n > 0 {
				states = append(states, state.word)
			}
		}
		if len(states) == 0 {
			states = []string{map[bool]string{true: "no GPU", false: map[bool]string{true: "ok", false: "unknown"}[s.Healthy == s.GPUs]}[s.GPUs == 0]}
		}
		processes := dash
		if s.Processes != nil {
			processes = grouped(*s.Processes)
		}
		rows = append(rows, []string{
			*s.Group, or(s.Cluster, dash), strings.Join(states, "\n"), grouped(s.GPUs), grouped(s.Failed),
			percent(s.Utilization), percent(s.MemoryUtilization), watts(s.Power), processes,
		})
	}
	return rows
}

// tableRows returns the cells of a table, empty if it is not shown.
func tableRows(p *tab, caption string) [][]string {
	p.t.Helper()
	return eval[[][]string](p, `[...document.querySelectorAll('main [aria-label="`+caption+`"] tbody tr')].map(r => [...r.children].map(c => c.innerText.trim()))`)
}

func shownReadings(p *tab) map[string]string {
	p.t.Helper()
	return eval[map[string]string](p, `Object.fromEntries(["utilization", "memory", "temperature", "power", "clock"].map(name =>
		[name, document.querySelector('[data-reading="' + name + '"] .reading-value')?.innerText ?? "no such reading"]))`)
}

// shownFacts returns the names and values of all panels.
func shownFacts(p *tab) map[string]string {
	p.t.Helper()
	return eval[map[string]string](p, `Object.fromEntries([...document.querySelectorAll("main .facts dt")].map(e => [e.textContent, e.nextElementSibling.innerText.trim()]))`)
}

// pick returns the entries of a map whose keys another map has.
func pick(values, keys map[string]string) map[string]string {
	some := map[string]string{}
	for key := range keys {
		some[key] = values[key]
	}
	return some
}
