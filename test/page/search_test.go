// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
	"github.com/otelgpu/gpureceiver/test/page/fleets"
)

// search goes to the search box by its key and types a text.
func (p *tab) search(text string) {
	p.t.Helper()
	for _, e := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
		require.NoError(p.t, call(p.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: e, Key: "/", Code: "Slash"}))
	}
	p.until(focused + `.matches(".search input")`)
	require.NoError(p.t, call(p.ctx, input.InsertText, input.InsertTextParams{Text: text}))
}

// The search box finds each thing by a part of any of its names, by the keyboard alone.
func TestSearch(t *testing.T) {
	s := fleets.Copy(viewtest.Snapshot())
	g := node(s, "prod", "n1").GPUs[0]
	g.SerialNumber = new("1654922001234")
	p := open(t, s, "/")
	p.until(`document.querySelector("main").innerText.length > 0`)
	for text, want := range map[string]string{
		"n2":            "#/node?cluster=prod&node=n2",
		"gpu-N1-3":      "#/gpu?id=GPU-n1-3",
		"922001":        "#/gpu?id=" + g.ID,
		"workstation-0": "#/gpu?id=GPU-workstation-0",
	} {
		p.visit("/")
		p.search(text)
		p.key(kb.Enter) // before the suggestions are there
		p.until(`location.hash === "` + want + `"`)
	}
	for _, part := range []string{*g.Containers[0].Pod, *g.Containers[0].Workload} {
		p.visit("/")
		p.search(part)
		p.until(`[...document.querySelectorAll('[role="option"]')].some(e => e.innerText.includes("` + g.ID + `"))`)
	}
	// The process with exactly this number is first.
	process := g.Processes[0]
	p.key(kb.Escape)
	p.search(strconv.Itoa(process.PID))
	p.until(`[...document.querySelectorAll('[role="option"]')].find(e => e.innerText.startsWith("process"))?.innerText.startsWith("process ` + strconv.Itoa(process.PID) + ` ")`)
	assert.Equal(t, "true", eval[string](p, `document.querySelector('[role="option"]').ariaSelected`))
	assert.Empty(t, breaches(p))
	p.key(kb.ArrowDown)
	p.until(`document.querySelectorAll('[role="option"]')[1]?.ariaSelected === "true" || document.querySelectorAll('[role="option"]').length === 1`)
	p.key(kb.Escape)
	p.until(`document.querySelectorAll('[role="option"]').length === 0`)
	p.search("no such thing")
	p.until(`document.querySelector(".search .nothing")?.innerText === "Nothing matches “no such thing”."`)
	p.size(390, 844)
	assert.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth`), 390)
}

// A filter applies while typing, matches parts of words, and says so if nothing matches.
func TestFilterWhileTyping(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/#/gpus?cluster=lab")
	p.until(`document.querySelectorAll("main tbody tr").length === 2`)
	eval[any](p, `[...document.querySelectorAll(".filters .chip")].find(e => e.innerText.includes("lab")).click()`)
	p.until(`document.querySelectorAll("main tbody tr").length > 2`)
	typed := func(text string) {
		eval[any](p, `document.querySelector(".filters input").select()`)
		require.NoError(t, call(p.ctx, input.InsertText, input.InsertTextParams{Text: text}))
	}
	typed("i300x")
	p.until(`document.querySelectorAll("main tbody tr").length === 2 && [...document.querySelectorAll("main tbody tr")].every(e => e.innerText.includes("MI300X"))`)
	typed("zzz")
	p.until(`document.querySelector("main .empty")?.innerText.includes("Nothing matches the filter")`)
	eval[any](p, `document.querySelector("main .empty button").click()`)
	p.until(`document.querySelectorAll("main tbody tr").length > 2`)
}

// Each column of these lists sorts on the server. Severity and health are sorted by how bad they are.
func TestSortByEachColumn(t *testing.T) {
	worst := []string{"error", "warn", "info"}
	p := open(t, viewtest.Snapshot(), "/")
	for path, caption := range map[string]string{
		"problems": "Problems", "nodes": "Nodes", "events": "Events", "gpus": "GPUs", "workloads": "Workloads", "processes": "Processes", "teams": "Teams",
		"node?cluster=prod&node=n1": "GPUs of prod/n1",
	} {
		p.visit("/#/" + path)
		table := fmt.Sprintf(`[...document.querySelectorAll("main table")].find(t => t.caption.textContent === %q)`, caption)
		p.until(table)
		assert.Zero(t, eval[int](p, `[...`+table+`.querySelectorAll("thead th")].filter(h => !h.querySelector("button")).length`), path)
		for i := range eval[int](p, table+`.querySelectorAll("thead th button").length`) {
			p.until(table) // it is away while the server sorts it
			eval[any](p, fmt.Sprintf(`%s.querySelectorAll("thead th button")[%d].click()`, table, i))
			p.until(fmt.Sprintf(`%s?.querySelectorAll("thead th")[%d].ariaSort && !document.querySelector("main .notice-error")`, table, i))
		}
	}
	// The table of ended problems has an order of its own.
	p.visit("/#/problems?sort=node")
	p.until(`document.querySelectorAll("main table").length === 2`)
	eval[any](p, `[...document.querySelectorAll("main table")][1].querySelector("thead th button").click()`)
	p.until(`location.hash.includes("sort=node") && location.hash.includes("ended=severity")`)
	p.visit("/#/events?sort=severity")
	p.until(`document.querySelectorAll("main tbody tr").length > 2`)
	severities := eval[[]string](p, `[...document.querySelectorAll("main tbody tr")].map(e => e.children[1].innerText)`)
	assert.True(t, slices.IsSortedFunc(severities, func(a, b string) int { return slices.Index(worst, a) - slices.Index(worst, b) }), severities)
	p.visit("/#/node?cluster=prod&node=n1&sort=-temperature_celsius")
	p.until(`document.querySelector("main tbody tr")?.innerText.includes("88 °C")`)
	p.visit("/#/nodes?sort=health")
	p.until(`document.querySelector("main tbody tr")?.innerText.includes("GPU failed")`)
}

// story adds what happened on a node, and what a team wasted, to a fleet.
type story struct{ *fleets.Reader }

func (r story) Events() []view.Event {
	at := viewtest.Now.Add(-time.Hour)
	return []view.Event{{
		UID: "story", Name: "hw.gpu.xid", Time: at, Observed: at, Severity: "ERROR", Body: new("XID 79: the GPU has fallen off the bus"),
		Node: new("gpu-os-101"), Cluster: new("osaka"), GPU: new("GPU-gpu-os-101-3"), Attributes: map[string]any{},
	}}
}

// Five tasks on 8,000 GPUs, each in at most three actions, with only what a person sees: links, headings, the search box.
func TestTasks(t *testing.T) {
	reader := story{fleets.NewReader(fleets.Large(1000))}
	p := openHandler(t, reader.Reader, fleets.Handler(reader), "/")
	actions := 0
	click := func(selector, text string) {
		t.Helper()
		actions++
		found := fmt.Sprintf(`[...document.querySelectorAll(%q)].find(e => e.innerText.includes(%q))`, selector, text)
		p.until(found)
		eval[any](p, found+`.click()`)
	}
	directory := t.TempDir()
	if *update {
		directory = filepath.Join("..", "..", "docs", "images")
	}
	task := func(name, picture, answer string, do func()) {
		t.Helper()
		actions = 0
		p.visit("/")
		p.until(`document.querySelector(".map canvas")?.width > 300`)
		start := time.Now()
		do()
		p.until(fmt.Sprintf(`document.querySelector("main").innerText.includes(%q)`, answer))
		t.Logf("%s: %d actions, %v of the machine", name, actions, time.Since(start).Round(time.Millisecond))
		assert.LessOrEqual(t, actions, 3, name)
		p.size(1280, 480)
		p.picture(filepath.Join(directory, picture+".png"))
		p.size(1280, 900)
	}
	type gpus = view.Metrics

	failed := ask[view.List[view.Finding]](p, "problems?severity=error").Items
	worst := failed[slices.IndexFunc(failed[:3], func(f view.Finding) bool { return len(f.Workloads) > 0 })]
	pod := *ask[view.GPU](p, "metrics/"+*worst.GPU).Containers[0].Pod
	task("the failed GPU and its pod", "page-task-failed", pod, func() {
		click(fmt.Sprintf(".situation a[title=%q]", *worst.GPU), fmt.Sprintf("GPU %d", *worst.Index)) // beside its node
	})
	hottest := ask[gpus](p, "metrics?sort=-temperature_celsius&limit=1").GPUs[0]
	task("the hottest GPU", "page-task-hottest", place(hottest.Cluster, hottest.Node), func() {
		click("nav a", "GPUs")
		click("th button", "Temperature")
	})
	assert.Contains(t, p.text("main tbody tr"), place(hottest.Cluster, hottest.Node))
	task("the team that wastes most", "page-task-waste", *ask[view.List[view.Team]](p, "teams?sort=-idle_seconds").Items[0].Name, func() { click("nav a", "Teams") })
	task("what happened on a node an hour ago", "page-task-past", "XID 79: the GPU has fallen off the bus", func() {
		actions++
		p.search("gpu-os-101")
		actions++
		p.key(kb.Enter)
		click("main a", "Events")
	})
	held := ask[view.List[view.Workload]](p, "workloads?search=train-17&limit=1").Items[0]
	task("where a workload runs", "page-task-workload", held.Name+"-0 / main", func() {
		actions++
		p.search(held.Name)
		click(`[role="option"]`, *held.Namespace+"/"+held.Name)
	})
	p.until(fmt.Sprintf(`document.querySelector(".pager")?.innerText.includes("of %d") || document.querySelectorAll("main tbody tr").length === %d`, len(held.GPUs), len(held.GPUs)))
}
