// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package page

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command/commandtest"
	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// The built collector reads simulated nodes, and what its page shows equals what its API says. The simulated values are constant, or change
// when a test says so.

// openNVIDIA opens the page of a collector on a simulated node with NVIDIA GPUs, whose clock stands still.
func openNVIDIA(t *testing.T, scenario string) (*tab, *nvmlsim.Control) {
	t.Helper()
	lib, err := nvmlsim.Build()
	if errors.Is(err, nvmlsim.ErrNoCompiler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	path, err := nvmlsim.ScenarioFile(scenario)
	require.NoError(t, err)
	control := nvmlsim.NewControl(filepath.Join(t.TempDir(), "control"))
	require.NoError(t, control.Write(timeline("10s")))
	return openCollector(t, `{nvml: {library_path: "`+lib.Full+`"}}`, nvmlsim.EnvScenario+"="+path, nvmlsim.EnvControl+"="+control.Path()), control
}

// at is the simulation's text for a moment of a scenario, and what else is so at this moment.
func timeline(now string, more ...string) string {
	return "time = manual\nnow = " + now + "\n" + strings.Join(more, "\n")
}

// The demonstration's node: eight healthy GPUs. New values are shown without a reload.
func TestHealthyNVIDIANode(t *testing.T) {
	p, control := openNVIDIA(t, "demo")
	p.until(`document.querySelectorAll("a.tile.tile-ok").length === 8`)
	sameFleet(p)
	eval[any](p, `window.kept = true; null`)
	before := shownTiles(p)
	require.NoError(t, control.Set(timeline("25s")))
	p.eventually("other values", func() bool {
		now := shownTiles(p)
		for id := range before {
			if now[id] != before[id] {
				return true
			}
		}
		return false
	})
	sameFleet(p)
	assert.True(t, eval[bool](p, `window.kept`), "the page was not loaded again")
	assert.Equal(t, "8", p.text(`[data-total="gpus"] .total-value`))
	assert.Equal(t, "8", p.text(`[data-total="healthy"] .total-value`))
	assert.Equal(t, "0", p.text(`[data-total="problems"] .total-value`))
	sameViews(p)
}

// A GPU is lost while the page is open, and is found again.
func TestNVIDIAGPUIsLost(t *testing.T) {
	p, control := openNVIDIA(t, "demo")
	p.until(`document.querySelectorAll("a.tile.tile-ok").length === 8`)
	eval[any](p, `window.kept = true; null`)
	require.NoError(t, control.Set(timeline("10s", "[fault f]", "gpu = 3", "kind = lost")))
	p.until(`document.querySelectorAll("a.tile.tile-failed").length === 1 && document.querySelectorAll("a.tile.tile-ok").length === 7`)
	lost := eval[string](p, `document.querySelector("a.tile.tile-failed").dataset.id`)
	assert.Equal(t, "node-a GPU 3, NVIDIA H100 80GB HBM3, failed, utilization unknown, memory unknown", shownTiles(p)[lost])
	sameFleet(p)
	assert.Equal(t, "1", p.text(`[data-total="failed"] .total-value`))
	eval[any](p, `location.hash = "#/problems"; null`)
	p.until(`document.querySelector('main [href*="` + lost + `"]')`)
	sameProblems(p)
	assert.True(t, eval[bool](p, `window.kept`), "the page was not loaded again")
	found := false
	for _, row := range tableRows(p, "Problems") {
		found = found || row[0] == "The GPU has failed" && strings.Contains(row[1], "GPU 3") && strings.Contains(row[4], "lost")
	}
	assert.True(t, found, "the problem names the GPU: %v", tableRows(p, "Problems"))
	sameViews(p)
	p.visit("/#/gpu?id=" + escape(lost))
	p.until(`document.querySelector("main .notice-error")?.innerText.includes("lost")`)
	assert.Equal(t, dash, shownReadings(p)["power"], "nothing was read")

	require.NoError(t, control.Set(timeline("10s")))
	p.until(`!document.querySelector("main .notice-error")`)
	p.visit("/")
	p.until(`document.querySelectorAll("a.tile.tile-ok").length === 8`)
	sameFleet(p)
}

// One of two GPUs is divided into three MIG devices.
func TestMIGNode(t *testing.T) {
	p, _ := openNVIDIA(t, "mig")
	p.until(`document.querySelectorAll("a.tile").length === 2 && document.querySelectorAll(".tile-parts .tile-bar").length === 3`)
	sameFleet(p)
	divided := eval[string](p, `document.querySelector("a.tile").dataset.id`)
	assert.Contains(t, shownTiles(p)[divided], "node-a GPU 0, NVIDIA H100 80GB HBM3, ok, ")
	assert.Contains(t, shownTiles(p)[divided], ", 3 partitions")
	sameViews(p)
	p.visit("/#/gpu?id=" + escape(divided))
	assert.Len(t, tableRows(p, "Partitions"), 3)
}

// Eight MI300X that are whole, and two that are divided into eight partitions each.
func TestAMDNode(t *testing.T) {
	for gpus, divided := range map[int]bool{8: false, 2: true} {
		t.Run(map[bool]string{false: "whole", true: "divided"}[divided], func(t *testing.T) {
			host := filepath.Join(t.TempDir(), "host")
			_, err := amdgpusim.Write(host, amdgpusim.MI300XNode(gpus, divided))
			require.NoError(t, err)
			p := openCollector(t, `{amdgpu: {root_path: "`+host+`"}}`)
			p.eventually("tiles", func() bool { return len(shownTiles(p)) == gpus })
			sameFleet(p)
			assert.Equal(t, grouped(gpus), p.text(`[data-total="gpus"] .total-value`))
			for _, tile := range shownTiles(p) {
				assert.Contains(t, tile, "AMD Instinct MI300X OAM")
				assert.Equal(t, divided, strings.Contains(tile, ", 8 partitions"), tile)
			}
			sameViews(p)
		})
	}
}

// A machine without any GPU and without a driver differs from a machine that cannot be read.
func TestNodeWithoutGPU(t *testing.T) {
	if onTheBus(t, "0x10de") || onTheBus(t, "0x1002") {
		t.Skip("this machine has a GPU, or another device of a vendor of GPUs")
	}
	p := openCollector(t, "")
	p.until(`document.querySelector("main").innerText.includes("No GPU is known")`)
	p.until(`document.querySelector('[data-total="gpus"] .total-more')?.innerText === "on 1 node"`)
	sameFleet(p)
	assert.Equal(t, "0", p.text(`[data-total="gpus"] .total-value`))
	assert.Equal(t, dash, p.text(`[data-total="utilization"] .total-value`))
	sameViews(p)
	p.visit("/#/node?node=" + nodeName)
	assert.Contains(t, p.text("main"), "This node has no GPU.")
	assert.Equal(t, "0", shownFacts(p)["Visible"])
}

// A node that cannot be read is not shown as one without GPUs: the library is missing, or the vendor's tool crashes.
func TestUnreadableNode(t *testing.T) {
	dir := t.TempDir()
	tool := filepath.Join(dir, "nvidia-smi")
	commandtest.WriteScript(t, tool, "kill -SEGV $$")
	for reason, scrapers := range map[string]string{
		"library":     `{nvml: {library_path: "` + filepath.Join(dir, "libnvidia-ml.so.1") + `"}}`,
		"tool failed": `{nvidia_smi: {path: "` + tool + `"}}`,
	} {
		t.Run(reason, func(t *testing.T) {
			p := openCollector(t, scrapers)
			p.visit("/#/problems")
			p.until(`document.querySelectorAll("main tbody tr").length === 1`)
			sameFleet(p)
			sameViews(p)
			problems := ask[view.List[view.Finding]](p, "problems").Items
			require.Len(t, problems, 1)
			assert.Equal(t, "The node cannot be read", problems[0].What)
			p.visit("/#/node?node=" + nodeName)
			p.until(`document.querySelector("main .notice-warning")?.innerText.includes("The node cannot be read")`)
			assert.Contains(t, p.text("main .notice-warning"), reason)
			assert.Contains(t, p.text("main"), "Its GPUs are unknown")
			assert.NotContains(t, p.text("main"), "This node has no GPU.")
			assert.Equal(t, dash, shownFacts(p)["Visible"], "how many GPUs there are is not known")
		})
	}
}

// onTheBus reports whether this machine has a device of a vendor.
func onTheBus(t *testing.T, vendor string) bool {
	t.Helper()
	files, err := filepath.Glob("/sys/bus/pci/devices/*/vendor")
	require.NoError(t, err)
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(text)) == vendor {
			return true
		}
	}
	return false
}
