// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
	"github.com/otelgpu/gpureceiver/test/page/fleets"
)

// brokenWords returns the words that are shown on more than one line. A line may end after a hyphen or another sign.
const brokenWords = `(() => {
	const broken = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node = walk.nextNode(); node; node = walk.nextNode()) {
		if (node.parentElement.closest("script, style, pre, code, .hidden")) continue;
		for (const word of node.data.matchAll(/[\p{L}\p{N}]+/gu)) {
			const range = document.createRange();
			range.setStart(node, word.index);
			range.setEnd(node, word.index + word[0].length);
			if (new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size > 1) broken.push(word[0]);
		}
	}
	return broken;
})()`

// On a phone and on a desktop no word is broken inside, the page does not scroll sideways, and a phone shows the totals in one line, and cards
// in place of tables.
func TestWidths(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/")
	for _, width := range []int64{390, 1440} {
		p.size(width, 900)
		for _, path := range views {
			p.visit(path)
			p.until(`document.querySelector("main").innerText.length > 10`)
			assert.Empty(t, eval[[]string](p, brokenWords), "%d px: %s", width, path)
			assert.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth`), int(width), path)
			if path == "/docs" {
				continue
			}
			assert.Equal(t, 1, eval[int](p, `new Set([...document.querySelectorAll(".total dt")].map(e => Math.round(e.getBoundingClientRect().top))).size`), "%d px: %s", width, path)
		}
	}
	p.size(390, 844)
	p.visit("/#/processes")
	p.until(`document.querySelectorAll("tbody tr").length === 2`)
	assert.Equal(t, []string{"block", "absolute", `"Node"`}, eval[[]string](p, `(() => {const row = document.querySelector("tbody tr"), title = getComputedStyle(row.children[2], "::before");
		return [getComputedStyle(row).display, title.position, title.content]})()`))
	assert.LessOrEqual(t, eval[int](p, `document.querySelector(".totals").scrollWidth - document.querySelector(".totals").clientWidth`), 0, "the totals fit")
	// A large fleet has long numbers.
	p = open(t, fleets.Large(1000), "/")
	p.size(390, 844)
	p.until(`document.querySelector('[data-total="gpus"] .total-value').innerText === "8,000"`)
	p.until(`document.querySelector('[data-total="problems"] .total-value').innerText !== "–"`)
	assert.LessOrEqual(t, eval[int](p, `document.querySelector(".totals").scrollWidth - document.querySelector(".totals").clientWidth`), 0, "the totals fit")
}

// To a screen reader, the link of a number says what it counts.
func TestLinksOfTotals(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/")
	p.until(`document.querySelector('[data-total="problems"] .total-value').innerText !== "–"`)
	assert.Equal(t, []string{"GPUs: 9 on 5 of 6 nodes", "Failed: 1"}, eval[[]string](p, `[...document.querySelectorAll(".totals a")].slice(0, 2).map(e => e.ariaLabel)`))
	assert.Regexp(t, `^Problems: [0-9]+$`, eval[string](p, `document.querySelectorAll(".totals a")[2].ariaLabel`))
}

// paper shows the page as it is printed.
func (p *tab) paper(scheme string) {
	p.t.Helper()
	require.NoError(p.t, call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}))
}

// Paper has the whole table or map, dark on white, also of a dark page.
func TestPrint(t *testing.T) {
	p := open(t, fleets.Large(12), "/#/nodes")
	p.scheme("dark")
	p.until(`document.querySelectorAll("tbody tr").length === 12`)
	p.paper("dark")
	light := func() {
		t.Helper()
		p.until(`getComputedStyle(document.documentElement).getPropertyValue("--surface").trim() === "#ffffff"`)
		assert.Equal(t, "rgb(24, 33, 43)", eval[string](p, `getComputedStyle(document.body).color`))
		assert.Equal(t, "rgb(255, 255, 255)", eval[string](p, `getComputedStyle(document.body).backgroundColor`))
		assert.Equal(t, "none", eval[string](p, `getComputedStyle(document.querySelector("nav")).display`))
	}
	light()
	assert.Equal(t, "visible", eval[string](p, `getComputedStyle(document.querySelector(".table-box")).overflowX`))
	// A theme that was chosen is not printed either.
	eval[any](p, `document.documentElement.dataset.theme = "dark"; null`)
	light()

	p.scheme("light")
	p = open(t, fleets.Large(120), "/#/nodes")
	p.until(`document.querySelectorAll("tbody tr").length === 50`)
	eval[any](p, `[...document.querySelectorAll(".pager button")].find(b => b.innerText === "Show all").click()`)
	p.until(`document.querySelectorAll("tbody tr").length === 120`)
	assert.Contains(t, p.text(".pager"), "1 to 120 of 120")

	p.visit("/")
	p.until(`document.querySelector(".map canvas")?.width > 300`)
	p.size(1280, 300)
	p.paper("light")
	p.until(`document.querySelector(".map canvas").height >= parseInt(document.querySelector(".map").style.height)`)
	assert.Equal(t, "none", eval[string](p, `getComputedStyle(document.querySelector(".cell-list")).display`), "25 rows of the same GPUs are not all of them")
}

// Without hw.gpu.speed.limit, which the receiver sends only if it is enabled, the clock's scale ends at its own highest value, and says so.
func TestClockWithoutLimit(t *testing.T) {
	s := fleets.Copy(fleets.Large(12))
	g := s.Nodes[0].GPUs[2]
	g.ClockLimits = map[string]float64{"graphics": 1.98e9}
	p := open(t, s, "/#/gpu?id="+g.ID)
	p.until(`document.querySelectorAll(".spark-line").length > 4`)
	more := `document.querySelector('[data-reading="clock"] .reading-more').innerText`
	assert.NotContains(t, eval[string](p, more), "not reported")
	s = fleets.Copy(s)
	s.Generation++
	s.Nodes[0].GPUs[2].ClockLimits = map[string]float64{}
	p.reader.Set(s)
	p.until(more + `.startsWith("the limit is not reported: the scale ends at the highest value")`)
	p.until(`Math.min(...document.querySelector('[data-reading="clock"] .spark-band').getAttribute("d").match(/ ([0-9.]+)/g).map(Number)) === 1`)
}
