// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
	"github.com/otelgpu/gpureceiver/test/page/fleets"
)

const focused = `document.activeElement`

func TestKeyboard(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/")
	p.until(`document.querySelectorAll("a.tile").length === 9`)
	p.key(kb.Tab)
	p.until(focused + `.innerText === "Skip to content"`) // the first stop
	p.key(kb.Enter)
	p.until(focused + `.id === "main"`)
	// Tab goes through the controls to one tile, and from there on behind all tiles.
	assert.Equal(t, 1, eval[int](p, `document.querySelectorAll('a.tile[tabindex="0"]').length`))
	for range 30 {
		if p.key(kb.Tab); eval[bool](p, focused+`.matches("a.tile")`) {
			break
		}
	}
	focus := func(id string) {
		t.Helper()
		p.until(focused + `.dataset.id === "` + id + `"`)
	}
	focus("GPU-n2-0") // the first tile: its node is the worst
	assert.NotEqual(t, "0px", eval[string](p, `getComputedStyle(`+focused+`).outlineWidth`), "the focus can be seen")
	assert.Equal(t, "solid", eval[string](p, `getComputedStyle(`+focused+`).outlineStyle`))
	p.key(kb.ArrowRight)
	focus("GPU-n2-1")
	p.key(kb.ArrowRight)
	focus("000000000000abc0") // the next group
	p.key(kb.End)
	focus("GPU-workstation-0")
	p.key(kb.ArrowLeft)
	focus("GPU-n1-3")
	// A change of the data does not take the focus away.
	s := fleets.Copy(viewtest.Snapshot())
	s.Generation++
	s.Nodes[1].GPUs[0].Utilization.General = new(0.44)
	p.reader.Set(s)
	p.until(`document.querySelector('[data-id="000000000000abc0"]').innerText.includes("44")`)
	focus("GPU-n1-3")
	p.key(kb.Enter)
	p.until(`document.querySelector("main h1")?.innerText === "GPU 3"`)
	p.until(focused + `.id === "main"`) // a new view starts at its content
}

// The map of a large fleet is used by the arrow keys too.
func TestKeyboardOnTheMap(t *testing.T) {
	p := open(t, fleets.Large(80), "/#/fleet?by=node")
	p.until(`document.querySelector(".map canvas")?.width > 300`)
	eval[any](p, `document.querySelector(".map").focus()`)
	p.until(`document.querySelector(".map-line").innerText.includes(" GPU 0,")`)
	worst, _, _ := strings.Cut(p.text(".map-line"), " GPU 0,")
	cluster, name, _ := strings.Cut(worst, "/")
	assert.Positive(t, ask[view.List[view.Summary]](p, "summary?by=node&cluster="+cluster+"&node="+name).Items[0].Failed, "the first node is one with a failed GPU")
	p.key(kb.ArrowRight)
	p.until(`document.querySelector(".map-line").innerText.startsWith("` + worst + ` GPU 1,")`)
	p.key(kb.End)
	p.until(`document.querySelector(".map-line").innerText.includes("/gpu-tu-0") && document.querySelector(".map-line").innerText.includes(" GPU 7,")`)
	p.key(kb.Enter)
	p.until(`document.querySelector("main h1")?.innerText === "GPU 7"`)
}
