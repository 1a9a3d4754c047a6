// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// openExplorer shows docs/reference/explorer.html from a web server. When the test ends, it fails if the page has asked for anything else.
func openExplorer(t *testing.T, address string) *tab {
	t.Helper()
	p := openHandler(t, nil, http.FileServer(http.Dir(filepath.Join("..", "..", "docs", "reference"))), "/explorer.html"+address)
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, url := range p.requests {
			assert.True(t, url == "about:blank" || strings.HasPrefix(url, "data:") || strings.HasPrefix(url, p.url+"/explorer.html"), "the page asked for %s", url)
		}
	})
	return p
}

// shownEntries are the names of the entries that the filters leave.
func shownEntries(p *tab) []string {
	p.t.Helper()
	return eval[[]string](p, `[...document.querySelectorAll("details")].filter(e => e.checkVisibility()).map(e => e.id)`)
}

// choose sets a filter, as a person does.
func choose(p *tab, name, value string) {
	p.t.Helper()
	eval[any](p, `{ const c = document.querySelector('form [name="`+name+`"]'); c.value = "`+value+`"; c.dispatchEvent(new Event("input", {bubbles: true})); }`)
	require.Equal(p.t, value, eval[string](p, `document.querySelector('form [name="`+name+`"]').value`), "the filter has this value")
}

func TestExplorerFilters(t *testing.T) {
	for _, c := range []struct {
		name        string
		chosen      [][2]string
		has, hasNot []string
		exactly     bool
	}{
		{"text", [][2]string{{"text", "nvlink XGMI bytes"}}, []string{"hw.gpu.interconnect.io"}, []string{"hw.power"}, false},
		{"vendor", [][2]string{{"vendor", "AMD"}, {"kind", "metric"}}, []string{"hw.gpu.memory.visible.usage", "hw.power"}, []string{"hw.gpu.xids", "event-hw.gpu.reset"}, false},
		{"source", [][2]string{{"source", "nvidia_smi"}, {"kind", "metric"}}, []string{"hw.gpu.performance_state"}, []string{"hw.energy", "hw.gpu.xids"}, false},
		{
			"kernel log",
			[][2]string{{"source", "kernel_log"}, {"kind", "event"}, {"vendor", "NVIDIA"}},
			[]string{"event-hw.gpu.lost", "event-hw.gpu.pcie_error", "event-hw.gpu.xid"},
			nil, true,
		},
		{
			"cluster",
			[][2]string{{"source", "kubernetes_cluster"}, {"kind", "metric"}},
			[]string{
				"hw.gpu.source.failure", "hw.gpu.source.readable",
				"k8s.cluster.gpu.pod.pending", "k8s.container.gpu.request", "k8s.node.gpu.allocatable", "k8s.node.gpu.capacity", "k8s.node.gpu.requested",
			},
			nil, true,
		},
		{
			"processes, off",
			[][2]string{{"level", "process"}, {"default", "off"}, {"kind", "metric"}},
			[]string{"process.gpu.evicted.time", "process.gpu.media.utilization", "process.gpu.sdma.time"},
			nil, true,
		},
		{"partitions", [][2]string{{"level", "partition"}, {"kind", "metric"}}, []string{"hw.gpu.memory.usage", "hw.gpu.sm.occupancy"}, []string{"hw.energy", "process.gpu.info"}, false},
		{"nodes", [][2]string{{"level", "node"}, {"kind", "metric"}}, []string{"hw.gpu.count", "k8s.node.gpu.capacity"}, []string{"hw.power"}, false},
		{"workloads", [][2]string{{"level", "pod or workload"}}, []string{"container.gpu.energy", "event-k8s.workload.gpu.ended", "attribute-k8s.workload.kind"}, []string{"process.gpu.info"}, false},
		{"collector", [][2]string{{"level", "collector"}}, []string{"otelcol_gpu_read_age"}, []string{"hw.power", "attribute-hw.id"}, false},
		{"attributes", [][2]string{{"kind", "attribute"}, {"default", "off"}}, []string{"attribute-process.command_line"}, []string{"attribute-hw.id", "hw.voltage"}, false},
		{"nothing", [][2]string{{"text", "zebra"}}, []string{}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := openExplorer(t, "")
			all := len(shownEntries(p))
			require.Greater(t, all, 200)
			for _, chosen := range c.chosen {
				choose(p, chosen[0], chosen[1])
			}
			shown := shownEntries(p)
			if c.exactly {
				assert.Equal(t, c.has, shown)
			} else {
				assert.Subset(t, shown, c.has)
				assert.Less(t, len(shown), all)
			}
			for _, name := range c.hasNot {
				assert.NotContains(t, shown, name)
			}
			assert.Equal(t, len(shown) == 0, eval[bool](p, `document.getElementById("nothing").checkVisibility()`))
			// The address shows the same to somebody else.
			address := eval[string](p, `location.search`)
			p.visit("/explorer.html" + address)
			assert.Equal(t, shown, shownEntries(p), address)
			eval[any](p, `document.querySelector("form button").click()`)
			p.until(`location.search === ""`)
			assert.Len(t, shownEntries(p), all)
		})
	}
}

func TestExplorerDeepLink(t *testing.T) {
	p := openExplorer(t, "#hw.gpu.utilization")
	const entry = `document.getElementById("hw.gpu.utilization")`
	p.until(entry + `.open`)
	p.until(focused + `.parentElement.id === "hw.gpu.utilization"`) // where the keyboard goes on
	assert.True(t, eval[bool](p, `(top => top >= 0 && top < innerHeight)(`+entry+`.getBoundingClientRect().top)`), "it is in sight")
	text := eval[string](p, entry+`.innerText`)
	for _, part := range []string{
		"Fraction of time during which the GPU worked on the task", "gauge of double", "hw_gpu_utilization_ratio", "hw.gpu.task",
		"media is an engine that encodes and decodes", "mean of the driver's samples since the last read", "MIG is on",
		`avg by (k8s_cluster_name, hw_gpu_task) (hw_gpu_utilization_ratio{hw_parent=""})`, "hw.gpu.utilization: {enabled: false}",
	} {
		assert.Contains(t, text, part)
	}
	// A link within the page leads to what the filters hide.
	choose(p, "kind", "metric")
	require.NotContains(t, shownEntries(p), "attribute-hw.gpu.task")
	eval[any](p, entry+`.querySelector('a[href="#attribute-hw.gpu.task"]').click()`)
	p.until(`document.getElementById("attribute-hw.gpu.task").open`)
	assert.Contains(t, shownEntries(p), "attribute-hw.gpu.task")
	p.until(focused + `.parentElement.id === "attribute-hw.gpu.task"`)
	// A metric that is off says how it is switched on.
	p.visit("/explorer.html?vendor=AMD#hw.gpu.pipe.utilization")
	p.until(`document.getElementById("hw.gpu.pipe.utilization").open`)
	assert.Contains(t, eval[string](p, `document.getElementById("hw.gpu.pipe.utilization").innerText`), "hw.gpu.pipe.utilization: {enabled: true}")
}

func TestExplorerKeyboard(t *testing.T) {
	p := openExplorer(t, "?text=hw.gpu.xids&kind=metric")
	require.Equal(t, []string{"hw.gpu.xids"}, shownEntries(p))
	for range 30 {
		if p.key(kb.Tab); eval[bool](p, focused+`.matches("summary")`) {
			break
		}
		assert.True(t, eval[bool](p, focused+`.matches("a, input, select, button")`))
	}
	assert.Equal(t, "solid", eval[string](p, `getComputedStyle(`+focused+`).outlineStyle`), "the focus can be seen")
	p.key(kb.Enter)
	p.until(`document.getElementById("hw.gpu.xids").open`)
}

// The page works where it lies, without a server.
func TestExplorerFromDisk(t *testing.T) {
	if browser == nil {
		t.Skip("chromium is missing")
	}
	docs, err := filepath.Abs(filepath.Join("..", "..", "docs"))
	require.NoError(t, err)
	p := openAt(t, "file://"+docs, "/reference/explorer.html?source=nvml#event-hw.gpu.xid")
	p.until(`document.getElementById("event-hw.gpu.xid").open`)
	assert.Contains(t, shownEntries(p), "hw.power")
	assert.NotContains(t, shownEntries(p), "hw.gpu.memory.visible.usage")
}

func TestExplorerIsAccessible(t *testing.T) {
	p := openExplorer(t, "#hw.gpu.utilization")
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		assert.Empty(t, breaches(p), scheme)
		light := eval[int](p, `Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0])`)
		assert.Equal(t, scheme == "light", light > 128, "the background of %s", scheme)
	}
	p.size(360, 800)
	assert.True(t, eval[bool](p, `document.documentElement.scrollWidth <= innerWidth`), "a small screen needs no scrolling sideways")
}
