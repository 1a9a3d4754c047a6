// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
	"github.com/otelgpu/gpureceiver/test/page/fleets"
)

// The line of totals is the API's summary and the number of its problems.
func TestTotals(t *testing.T) {
	for name, s := range map[string]*view.Snapshot{"sample": viewtest.Snapshot(), "large": fleets.Large(40), "nothing": {Time: viewtest.Now, Generation: 1}} {
		t.Run(name, func(t *testing.T) {
			p := open(t, s, "/")
			same(p, "totals", func() map[string]string { return saidTotals(p) }, func() map[string]string { return shownTotals(p) })
		})
	}
}

// Each tile says what the API says of its GPU: healthy ones, a lost one, a divided one, AMD's, and one on a silent node.
func TestTiles(t *testing.T) {
	s := viewtest.Snapshot()
	p := open(t, s, "/")
	p.until(`document.querySelectorAll("a.tile").length === 9`)
	want := saidTiles(p)
	for _, id := range []string{"GPU-n1-0", "GPU-n1-1", "GPU-n1-2"} {
		want[id] += ", namespace ml"
	}
	same(p, "tiles", func() map[string]string { return want }, func() map[string]string { return shownTiles(p) })
	shown := shownTiles(p)
	// By hand: what was not read is not 0.
	assert.Equal(t, "prod/n2 GPU 1, NVIDIA A100-SXM4-40GB, failed, utilization unknown, memory unknown", shown["GPU-n2-1"])
	assert.Equal(t, "prod/n2 GPU 0, NVIDIA A100-SXM4-40GB, ok, utilization 0 %, memory 25 %, 2 partitions", shown["GPU-n2-0"])
	assert.Equal(t, 2, eval[int](p, `document.querySelectorAll('[data-id="GPU-n2-0"] .tile-parts .tile-bar').length`))
	// State has a sign beside its colour.
	for id, sign := range map[string]string{"GPU-n2-1": "failed", "GPU-n1-3": "throttled", "GPU-workstation-0": "stale"} {
		assert.True(t, eval[bool](p, `!!document.querySelector('[data-id="`+id+`"] .icon-`+sign+`')`), id)
	}
}

func TestGroupsAndFilters(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/#/fleet?by=cluster")
	groups := func() map[string]int {
		return eval[map[string]int](p, `Object.fromEntries([...document.querySelectorAll("[data-group]")].map(e => [e.dataset.group, e.querySelectorAll("a.tile").length]))`)
	}
	p.until(`document.querySelectorAll("a.tile").length === 9`)
	assert.Equal(t, map[string]int{"lab": 2, "no cluster": 1, "prod": 6}, groups())
	for grouping, want := range map[string]map[string]int{
		"node":                   {"lab/n1": 2, "prod/n1": 4, "prod/n2": 2, "workstation": 1},
		"model":                  {"AMD Instinct MI300X": 2, "NVIDIA A100-SXM4-40GB": 2, "NVIDIA H100 80GB HBM3": 4, "NVIDIA RTX 4090": 1},
		"namespace":              {"ml": 3, "no namespace": 6},
		"nvidia.com/gpu.product": {"NVIDIA-H100-80GB-HBM3": 4, "no nvidia.com/gpu.product": 5},
	} {
		eval[any](p, `{const s = document.querySelector(".choice select"); s.value = "`+grouping+`"; s.dispatchEvent(new Event("change", {bubbles: true}))}`)
		p.until(`location.hash.includes("by=` + escape(grouping) + `")`)
		text, err := json.Marshal(want)
		require.NoError(t, err)
		p.until(`(() => {const want = ` + string(text) + `; const all = [...document.querySelectorAll("[data-group]")];
			return all.length === Object.keys(want).length && all.every(e => want[e.dataset.group] === e.querySelectorAll("a.tile").length)})()`)
	}
	eval[any](p, `document.querySelector(".chip-failed").click()`)
	p.until(`document.querySelectorAll("a.tile").length === 1`)
	assert.Equal(t, "GPU-n2-1", eval[string](p, `document.querySelector("a.tile").dataset.id`))
	p.visit("/#/fleet?text=mi300")
	p.until(`document.querySelectorAll("a.tile").length === 2`)
}

// The map shows temperature, power and idle time as well: by hand, 88 °C, 700 of 700 W, and two hours of idle time.
func TestFill(t *testing.T) {
	s := fleets.Copy(viewtest.Snapshot())
	node(s, "prod", "n1").GPUs[1].Containers[0].IdleSince = new(time.Now().Add(-2 * time.Hour))
	p := open(t, s, "/#/fleet?use=temperature")
	tile := func(id, want string) {
		t.Helper()
		p.until(`document.querySelector('[data-id="` + id + `"] .tile-use')?.innerText === "` + want + `"`)
	}
	tile("GPU-n1-3", "88 °C")
	assert.Contains(t, p.text(".legend"), "to 75 °C")
	p.visit("/#/fleet?use=power")
	tile("GPU-n1-3", "100 %")
	p.visit("/#/fleet?use=idle")
	tile("GPU-n1-1", "2 h")
	assert.Contains(t, p.text(`[data-id="GPU-n1-1"]`), "idle since")
}

func TestNoGPU(t *testing.T) {
	p := open(t, &view.Snapshot{Time: viewtest.Now, Generation: 1}, "/")
	p.until(`document.querySelector("main").innerText.includes("No GPU is known")`)
	p.until(`document.querySelector('[data-total="gpus"] .total-value').innerText === "0"`) // the totals are another request
	assert.Equal(t, dash, p.text(`[data-total="utilization"] .total-value`), "a mean of nothing is not 0")
	assert.Equal(t, dash, p.text(`[data-total="power"] .total-value`))
}
