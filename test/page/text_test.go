// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
	"github.com/otelgpu/gpureceiver/test/page/fleets"
)

// Everything that others name is text on every view: nothing of it becomes an element or runs. tab.check fails on dialogs.
func TestNamesAreText(t *testing.T) {
	const evil = `"><img src=x onerror=alert(3)><script>alert(4)</script>{{7*7}}`
	s := fleets.Copy(viewtest.Snapshot())
	for _, n := range s.Nodes {
		if n.Name == "n2" {
			n.Name = evil
			n.Labels[evil] = evil
			n.Sources[0].Reasons = []string{evil}
			for _, g := range n.GPUs {
				g.Node, g.Model, g.Name, g.RecoveryAction = evil, new(evil), new(evil), new(evil)
			}
			n.GPUs[3].ID, n.GPUs[3].Faults, n.GPUs[3].Throttled = evil, []string{evil}, []string{evil}
		}
	}
	p := open(t, s, "/")
	for _, path := range append(views, "/#/node?cluster=prod&node="+escape(evil), "/#/gpu?id="+escape(evil), "/#/fleet?by=model&text="+escape(evil)) {
		p.visit(path)
		p.until(`document.querySelector("main").innerText.length > 10`)
		assert.Equal(t, 1, eval[int](p, `document.scripts.length`), path)
		assert.Equal(t, 0, eval[int](p, `document.querySelectorAll("img, iframe, object, embed").length`), path)
	}
	p.visit("/#/processes")
	p.until(`document.querySelectorAll("tbody tr").length === 2`)
	assert.Contains(t, p.text("main"), "<script>alert(1)</script>")
	assert.Contains(t, p.text("main"), "<script>alert(2)</script>")
	p.visit("/")
	p.until(`document.querySelector("main").innerText.includes("<script>alert(4)</script>{{7*7}}")`)
}
