// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
	"github.com/otelgpu/gpureceiver/test/page/fleets"
)

// The pictures of docs/operate/page.md: -update writes them there.
func TestPictures(t *testing.T) {
	directory := t.TempDir()
	if *update {
		directory = filepath.Join("..", "..", "docs", "images")
	}
	p := open(t, fleets.Large(48), "/")
	p.until(`document.querySelectorAll("a.tile").length === 384`)
	p.pictures(filepath.Join(directory, "page-fleet"))
	p.visit("/#/gpu?id=GPU-gpu-be-001-2")
	p.until(`document.querySelectorAll(".spark-line").length > 4`)
	p.pictures(filepath.Join(directory, "page-gpu"))
	p = open(t, fleets.Large(1000), "/")
	p.until(`document.querySelector(".map canvas")?.width > 300`)
	p.pictures(filepath.Join(directory, "page-fleet-8000"))
	machine := fleets.Large(8)
	machine.Nodes, machine.Clusters = machine.Nodes[:1], machine.Clusters[:1]
	p = open(t, machine, "/")
	p.until(`document.querySelectorAll(".machine svg.spark").length === 8`)
	p.pictures(filepath.Join(directory, "page-machine"))
	p = open(t, viewtest.Snapshot(), "/#/problems")
	p.until(`document.querySelectorAll("tbody tr").length > 3`)
	p.size(1280, 640)
	p.pictures(filepath.Join(directory, "page-problems"))
}

// pictures writes a picture of the light page and one of the dark page.
func (p *tab) pictures(path string) {
	p.t.Helper()
	p.scheme("dark")
	p.picture(path + "-dark.png")
	p.scheme("light")
	p.picture(path + ".png")
}

func (p *tab) picture(path string) {
	p.t.Helper()
	p.until(`document.querySelector('[data-total="problems"] .total-value')?.innerText !== "–"`)
	// The requested view is drawn after two frames.
	_, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](`new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => r(true), 400))))`, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err)
	image, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(path, image, 0o644))
}
