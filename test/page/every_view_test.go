// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

var escape = url.QueryEscape

// views are the addresses of all views, with something to see.
var views = []string{
	"/", "/#/fleet?by=cluster", "/#/nodes", "/#/node?cluster=prod&node=n1", "/#/node?cluster=prod&node=unread", "/#/gpu?id=GPU-n1-0", "/#/gpu?id=GPU-n2-1",
	"/#/gpu?id=GPU-n2-0", "/#/gpus", "/#/teams", "/#/teams?by=label", "/#/processes", "/#/workloads", "/#/problems", "/#/events", "/docs", "/#/nothing",
}

// On a phone no view is wider than the screen: tables scroll by themselves.
func TestPhone(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/")
	p.size(360, 740)
	for _, path := range views {
		p.visit(path)
		p.until(`document.querySelector("main").innerText.length > 10`)
		wide := eval[int](p, `document.documentElement.scrollWidth`)
		assert.LessOrEqual(t, wide, 360, path)
		small := eval[[]string](p, `[...document.querySelectorAll("button, select, input, a.tile, summary, nav a")]
			.filter(e => e.offsetParent !== null && (e.offsetWidth < 24 || e.offsetHeight < 24)).map(e => e.outerHTML.slice(0, 80))`)
		assert.Empty(t, small, "%s: WCAG 2.5.8 asks for 24 px", path)
	}
}

// axe-core finds no breach of WCAG 2.2 A and AA in any view, in both themes.
func TestAccessibility(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/")
	for _, theme := range []string{"light", "dark"} {
		p.scheme(theme)
		for _, path := range views {
			p.visit(path)
			p.until(`document.querySelector("main").innerText.length > 10`)
			assert.Empty(t, breaches(p), "%s %s", theme, path)
		}
	}
}

// breaches returns what axe-core finds wrong with the page as it is shown. It skips the test if axe-core is missing.
func breaches(p *tab) []string {
	p.t.Helper()
	axe, err := os.ReadFile("../../internal/view/page/src/node_modules/axe-core/axe.min.js")
	if err != nil {
		p.t.Skip("axe-core is missing: run make page")
	}
	eval[any](p, string(axe)+"; null")
	got, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]string](`axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
		.then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + n.html.slice(0, 200) + " " + n.failureSummary)))`, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err)
	return got
}

// The theme follows the system until it is switched, and stays switched.
func TestThemes(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/")
	background := func() string { return eval[string](p, `getComputedStyle(document.body).backgroundColor`) }
	light := background()
	p.scheme("dark")
	dark := background()
	assert.NotEqual(t, light, dark)
	eval[any](p, `document.querySelector(".theme").click()`)
	p.until(`document.querySelector(".theme").getAttribute("aria-label").startsWith("Theme: light")`)
	assert.Equal(t, light, background())
	p.visit("/#/nodes")
	assert.Equal(t, light, background(), "after the page was loaded again")
	eval[any](p, `document.querySelector(".theme").click()`)
	p.scheme("light")
	p.until(`document.documentElement.dataset.theme === "dark"`)
	assert.Equal(t, dark, background())
	eval[any](p, `localStorage.clear()`)
}

// A request that is tried on /docs shows the request, the status and the API's answer.
func TestTryIt(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/docs")
	p.until(`document.querySelectorAll("details.operation").length > 10`)
	routes := eval[[]string](p, `[...document.querySelectorAll("details.operation summary code")].map(e => e.innerText)`)
	assert.Contains(t, routes, "/api/v1/gpu/metrics/{id}")
	try := func(route, fields string) {
		eval[any](p, fmt.Sprintf(`{const all = [...document.querySelectorAll("details.operation")];
			const one = all.find(e => e.querySelector("summary code").innerText === %q); all.forEach(e => e.open = e === one)}`, route))
		p.until(`document.querySelectorAll("details[open] form button").length === 1`)
		eval[any](p, `{const set = (name, value) => {const f = [...document.querySelectorAll("details[open] .field")].find(e => e.innerText.startsWith(name)).querySelector("input, select");
			f.value = value; f.dispatchEvent(new Event("input", {bubbles: true})); f.dispatchEvent(new Event("change", {bubbles: true}))}; `+fields+`}`)
		eval[any](p, `setTimeout(() => document.querySelector("details[open] form button").click(), 50); null`)
		p.until(`document.querySelector("details[open] .tried")`)
	}
	try("/api/v1/gpu/metrics/{id}", `set("id", "GPU-n2-1")`)
	assert.Contains(t, p.text("details[open] .request"), "GET /api/v1/gpu/metrics/GPU-n2-1")
	assert.Contains(t, p.text("details[open] .tried"), "200")
	assert.Contains(t, p.text("details[open] pre"), `"status": "failed"`)
	try("/api/v1/gpu/nodes/{node}", `set("node", "none")`)
	assert.Contains(t, p.text("details[open] .tried"), "404")
	assert.Contains(t, p.text("details[open] .tried"), "application/problem+json")
	try("/api/v1/gpu/summary", `set("by", "model"); set("Accept", "text/csv")`)
	assert.Contains(t, p.text("details[open] .request"), "by=model")
	assert.True(t, strings.HasPrefix(p.text("details[open] pre"), "by,group,"))
}
