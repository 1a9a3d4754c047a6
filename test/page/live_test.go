// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
	"github.com/otelgpu/gpureceiver/test/page/fleets"
)

// What changes is shown without a reload: values, a GPU that fails, one that goes, a node that comes.
func TestLive(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/")
	p.until(`document.querySelectorAll("a.tile").length === 9`)
	eval[any](p, `window.kept = true; null`)
	s := fleets.Copy(viewtest.Snapshot())
	s.Generation++
	node(s, "lab", "n1").GPUs[0].Utilization.General = new(0.61)
	failed := node(s, "lab", "n1").GPUs[1]
	failed.Status, failed.Faults = new("failed"), []string{"hung"}
	n1 := node(s, "prod", "n1")
	n1.GPUs = n1.GPUs[:3]
	fresh := *node(s, "lab", "n1")
	fresh.Name, fresh.GPUs = "n9", []*view.GPU{gpuOf(fresh.GPUs[0], "n9", "new")}
	s.Nodes = append(s.Nodes, &fresh)
	p.reader.Set(s)
	p.until(`document.querySelector('[data-id="000000000000abc0"]').title.includes("utilization 61 %")`)
	p.until(`document.querySelector('[data-id="000000000000abc1"]').title.includes("failed")`)
	p.until(`!document.querySelector('[data-id="GPU-n1-3"]') && document.querySelector('[data-group="lab/n9"] a.tile')`)
	p.until(`document.querySelector('[data-total="failed"] .total-value').innerText === "2"`)
	assert.True(t, eval[bool](p, `window.kept`), "the page was not loaded again")
}

func node(s *view.Snapshot, cluster, name string) *view.Node {
	for _, n := range s.Nodes {
		if or(n.Cluster, "") == cluster && n.Name == name {
			return n
		}
	}
	return nil
}

func gpuOf(g *view.GPU, node, id string) *view.GPU {
	c := *g
	c.Node, c.ID = node, id
	return &c
}

// When the collector goes away the page says so, keeps what it knows, and goes on by itself when the collector is back,
// even as a new process that counts its generations from the start.
func TestCollectorGoesAway(t *testing.T) {
	first := fleets.NewReader(viewtest.Snapshot())
	again := fleets.Copy(viewtest.Snapshot())
	again.Generation = 3
	again.Nodes = again.Nodes[:2]
	second := fleets.NewReader(again)
	var now atomic.Pointer[http.Handler]
	set := func(h http.Handler) { now.Store(&h) }
	set(fleets.Handler(first))
	p := openHandler(t, first, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*now.Load()).ServeHTTP(w, r) }), "/")
	p.until(`document.querySelectorAll("a.tile").length === 9 && document.querySelector(".live-live")`)
	set(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	p.server.CloseClientConnections()
	p.until(`document.querySelector(".live-away") && document.querySelector("header .notice-error")?.innerText.includes("does not answer")`)
	assert.Equal(t, 9, eval[int](p, `document.querySelectorAll("a.tile").length`), "what was known stays")
	set(fleets.Handler(second))
	p.until(`document.querySelector(".live-live") && document.querySelectorAll("a.tile").length === 3`)
	p.until(`!document.querySelector("header .notice-error")`)
}

// A server that has too many streams refuses one more: the page goes on trying, and shows what it can.
func TestRefusedStream(t *testing.T) {
	reader := fleets.NewReader(viewtest.Snapshot())
	inner := fleets.Handler(reader)
	var refuse atomic.Bool
	refuse.Store(true)
	p := openHandler(t, reader, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse.Load() && r.URL.Path == "/api/v1/gpu/stream" {
			http.Error(w, "too many", http.StatusServiceUnavailable)
			return
		}
		inner.ServeHTTP(w, r)
	}), "/")
	p.until(`document.querySelectorAll("a.tile").length === 9 && document.querySelector(".live-away")`)
	refuse.Store(false)
	p.until(`document.querySelector(".live-live")`)
}
