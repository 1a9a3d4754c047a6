// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
	"github.com/otelgpu/gpureceiver/test/page/fleets"
)

// A silent node is counted, its GPUs are never ok, and a browser can hide it until it comes back.
func TestSilentNodes(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/#/problems")
	p.until(`document.querySelector('[data-total="gpus"] .total-more')?.innerText === "on 5 of 6 nodes"`)
	p.until(`document.querySelector("main button.hide")`)
	problems := func() string { return p.text(`[data-total="problems"] .total-value`) }
	before := problems()
	eval[any](p, `document.querySelector("main button.hide").click()`)
	p.until(`document.querySelector(".hidden-nodes")?.innerText.startsWith("1 silent node is hidden")`)
	p.until(`document.querySelector('[data-total="problems"] .total-value').innerText !== "` + before + `"`)
	assert.NotContains(t, p.text("main table"), "workstation")
	p.visit("/#/fleet")
	p.until(`document.querySelectorAll("a.tile").length === 8`)
	p.visit("/#/node?node=workstation")
	p.until(`document.querySelector("main tbody .badge-stale")`)
	assert.False(t, eval[bool](p, `!!document.querySelector("main .badge-ok")`), "a silent GPU is not ok")

	s := fleets.Copy(viewtest.Snapshot())
	s.Generation++
	n := node(s, "", "workstation")
	n.State, n.GPUs[0].Stale = view.Live, false
	p.reader.Set(s)
	p.visit("/#/fleet")
	p.until(`document.querySelectorAll("a.tile").length === 9`)
	p.until(`localStorage.getItem("gpu_view.hidden") === "{}"`)
}

// A problem is one row with its begin, age, holders, cause and runbook. One that ended is listed below, and only errors and warnings are counted.
func TestProblems(t *testing.T) {
	s := viewtest.Snapshot()
	node(s, "prod", "n1").GPUs[2].XIDs = map[string]float64{"31": 1} // a program's mistake
	p := open(t, s, "/#/problems")
	p.until(`document.querySelectorAll('[aria-label="Problems"] tbody tr').length === 6`)
	p.until(`document.querySelector('[data-total="problems"] .total-value').innerText === "5"`)
	sameProblems(p)
	assert.True(t, eval[bool](p, `[...document.querySelectorAll('[aria-label="Problems"] tbody tr')].every(r => r.querySelector('a[href*="alerts.md#"]'))`))
	p.until(`document.querySelectorAll('[aria-label="Ended problems"] tbody tr').length === 1`)
	assert.Equal(t, []string{"Clocks are throttled", "lab/n9 GPU 0"}, tableRows(p, "Ended problems")[0][:2])
	assert.Contains(t, tableRows(p, "Ended problems")[0][2], "12 min")
}
