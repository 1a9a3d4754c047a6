// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	proto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/network"
	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/test/page/fleets"
)

// Bounds of a page of 8,000 GPUs. A document that had an element for each tile would have more than 8,000.
const (
	maxNodes       = 1500 // elements of the document
	maxBytesOfTile = 350  // of an update, for each tile that changed
	maxOtherBytes  = 8 << 10
)

func TestFleetOf8000(t *testing.T) {
	s := fleets.Large(1000)
	reader := fleets.NewReader(s)
	meter := &meter{next: fleets.Handler(reader), bytes: map[string]int{}}
	start := time.Now()
	p := openHandler(t, reader, meter, "/")
	p.until(`document.querySelector(".map canvas")?.width > 300 && document.querySelectorAll(".cell-list tbody tr").length === 25`)
	p.until(`document.querySelector('[data-total="problems"] .total-value').innerText !== "–"`)
	drawn := time.Since(start)
	elements := func() int { return eval[int](p, `document.querySelectorAll("*").length`) }
	before := elements()
	assert.Less(t, before, maxNodes)
	t.Logf("8,000 GPUs: %d elements; %d bytes of tiles at first, drawn %v after a new tab was asked for", before, meter.take("/api/v1/gpu/tiles"), drawn)
	for _, grouping := range []string{"node", "model", "namespace", "cluster"} {
		p.visit("/#/fleet?by=" + grouping)
		p.until(`document.querySelector(".map canvas")?.width > 300`)
		assert.Less(t, elements(), maxNodes, grouping)
	}
	// The table beside the map is the API's list in its order.
	gpus := ask[view.Metrics](p, "metrics?limit=25").GPUs
	shown := rows(p)
	for i, g := range gpus {
		assert.Equal(t, []string{strconv.Itoa(*g.Index), *g.Cluster + "/" + g.Node}, shown[i][:2])
		assert.Equal(t, percent(g.Utilization.General), shown[i][4], g.ID)
	}
	// The map has the colours of many levels and of failed GPUs.
	colours := eval[int](p, `(() => {const c = document.querySelector(".map canvas"); const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		const all = new Set(); for (let i = 0; i < d.length; i += 4) all.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return all.size})()`)
	assert.Greater(t, colours, 6)
	// An update of 100 tiles costs what 100 tiles cost, and no element.
	meter.reset()
	before = elements()
	s = fleets.Copy(s)
	s.Generation++
	for _, n := range s.Nodes[:100] {
		g := n.GPUs[0]
		g.Status, g.Utilization.General = new("ok"), new(0.123)
	}
	start = time.Now()
	reader.Set(s)
	p.until(`document.querySelector(".cell-list tbody tr").innerText.includes("12 %")`)
	updated := time.Since(start)
	tiles, whole := meter.take("/api/v1/gpu/tiles"), meter.total()
	t.Logf("an update of 100 tiles: %d bytes of tiles, %d bytes in all, drawn after %v", tiles, whole, updated)
	assert.Less(t, tiles, 100*maxBytesOfTile)
	assert.Less(t, whole, 100*maxBytesOfTile+maxOtherBytes)
	assert.InDelta(t, before, elements(), 20)
}

// The heap of a tab does not grow with the number of updates.
func TestHeapOfAFleetOf8000(t *testing.T) {
	const maxHeap = 10 << 20 // bytes; 8,000 tiles, their groups and the table take about half of it
	s := fleets.Large(1000)
	reader := fleets.NewReader(s)
	p := openHandler(t, reader, fleets.Handler(reader), "/")
	p.until(`document.querySelector(".map canvas")?.width > 300 && document.querySelectorAll(".cell-list tbody tr").length === 25`)
	require.NoError(t, call(p.ctx, performance.Enable, performance.EnableParams{}))
	update := func(i int) {
		s = fleets.Copy(s)
		s.Generation++
		for _, n := range s.Nodes {
			for _, g := range n.GPUs {
				g.Status, g.Utilization.General = new("ok"), new(float64(i%90+1)/100)
			}
		}
		reader.Set(s)
		// The tab waits by itself: a question each 20 ms would cost more than the update.
		_, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](fmt.Sprintf(`new Promise((done) => {
			const list = document.querySelector(".cell-list"), look = () => list.querySelector("tbody tr").textContent.includes("%d %%") && done(true);
			new MutationObserver(look).observe(list, {subtree: true, childList: true, characterData: true});
			look();
		})`, i%90+1), chromedp.EvalAwaitPromise))
		require.NoError(t, err)
	}
	update(0)
	first := p.metrics()
	const updates = 3
	for i := range updates {
		update(i + 1)
	}
	last := p.metrics()
	t.Logf("heap %.1f MB, after %d updates of every GPU %.1f MB; %.0f ms of the tab's main thread for each", first["JSHeapUsedSize"]/1e6, updates,
		last["JSHeapUsedSize"]/1e6, 1e3*(last["TaskDuration"]-first["TaskDuration"])/updates)
	assert.Less(t, last["JSHeapUsedSize"], float64(maxHeap))
}

// metrics returns Chromium's metrics of the tab by their names, after a garbage collection.
func (p *tab) metrics() map[string]float64 {
	p.t.Helper()
	require.NoError(p.t, call(p.ctx, heapprofiler.CollectGarbage, proto.Empty{}))
	answer, err := chromedp.Call(p.ctx, performance.GetMetrics, proto.Empty{})
	require.NoError(p.t, err)
	all := map[string]float64{}
	for _, m := range answer.Metrics {
		all[m.Name] = m.Value
	}
	return all
}

// meter counts the bytes of answers by path.
type meter struct {
	next  http.Handler
	mu    sync.Mutex
	bytes map[string]int
}

func (m *meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.next.ServeHTTP(&counted{ResponseWriter: w, m: m, path: r.URL.Path}, r)
}

func (m *meter) take(path string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes[path]
}

func (m *meter) total() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for path, bytes := range m.bytes {
		if strings.HasPrefix(path, "/api/") {
			n += bytes
		}
	}
	return n
}

func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.bytes)
}

type counted struct {
	http.ResponseWriter
	m    *meter
	path string
}

func (c *counted) Write(b []byte) (int, error) {
	c.m.mu.Lock()
	c.m.bytes[c.path] += len(b)
	c.m.mu.Unlock()
	return c.ResponseWriter.Write(b)
}

// Unwrap lets the stream flush.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// slowLink is a link of 50 kB/s with a latency of 200 ms.
var slowLink = network.EmulateNetworkConditionsByRuleParams{
	MatchedNetworkConditions: []*network.Conditions{{Latency: 200, DownloadThroughput: 50_000, UploadThroughput: 50_000}},
}

// Over a slow link 8,000 GPUs take little, each of them once, and after that only what changes.
func TestFleetOf8000OverASlowLink(t *testing.T) {
	const (
		maxFirst  = 400_000 // bytes until the fleet is shown: 8 s
		maxUpdate = 15_000
	)
	s := fleets.Large(1000)
	reader := fleets.NewReader(s)
	p := openHandler(t, reader, fleets.Handler(reader), "/docs") // without the fleet
	require.NoError(t, call(p.ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}))
	_, err := chromedp.Call(p.ctx, network.EmulateNetworkConditionsByRule, slowLink)
	require.NoError(t, err)
	traffic := &traffic{tiles: map[string]bool{}}
	require.NoError(t, chromedp.Listen(p.ctx, traffic.event))
	p.visit("/")
	p.until(`document.querySelector(".map canvas")?.width > 300 && document.querySelectorAll(".cell-list tbody tr").length === 25`)
	p.until(`document.querySelector('[data-total="problems"] .total-value').innerText !== "–"`)
	bytes, tiles, aborted := traffic.take()
	t.Logf("8,000 GPUs: %d bytes", bytes)
	assert.Less(t, bytes, maxFirst)
	assert.Equal(t, 1, tiles, "requests for all tiles")
	assert.Zero(t, aborted)

	s = fleets.Copy(s)
	s.Generation++
	for _, n := range s.Nodes[:100] {
		n.GPUs[0].Status, n.GPUs[0].Utilization.General = new("ok"), new(0.123)
	}
	reader.Set(s)
	p.until(`document.querySelector(".cell-list tbody tr").innerText.includes("12 %")`)
	bytes, _, aborted = traffic.take()
	t.Logf("an update of 100 GPUs: %d bytes", bytes)
	assert.Less(t, bytes, maxUpdate)
	assert.Zero(t, aborted)
}

// traffic counts what a tab receives.
type traffic struct {
	mu      sync.Mutex
	bytes   float64
	aborted int
	tiles   map[string]bool // requests for all tiles
}

func (c *traffic) event(e any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := e.(type) {
	case *network.EventRequestWillBeSent:
		if strings.HasSuffix(e.Request.URL, "tiles?since=0") {
			c.tiles[string(e.RequestID)] = true
		}
	case *network.EventDataReceived:
		c.bytes += float64(e.EncodedDataLength)
	case *network.EventLoadingFailed:
		if e.Type == network.ResourceTypeFetch {
			c.aborted++
		}
	}
}

// take returns what was received since the last call: bytes, requests for all tiles, and requests that did not end.
func (c *traffic) take() (bytes, tiles, aborted int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	bytes, tiles, aborted = int(c.bytes), len(c.tiles), c.aborted
	c.bytes, c.aborted = 0, 0
	clear(c.tiles)
	return bytes, tiles, aborted
}

// A first load that makes progress is not aborted, however long it takes: each part of it starts the page's limit of 20 s again.
func TestSlowFirstLoad(t *testing.T) {
	reader := fleets.NewReader(fleets.Large(1000))
	inner := fleets.Handler(reader)
	var all atomic.Bool
	parts := make(chan int) // lengths
	p := openHandler(t, reader, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/gpu/tiles" || all.Swap(true) {
			inner.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		r.Header.Del("Accept-Encoding")
		inner.ServeHTTP(answer, r)
		body := answer.Body.Bytes()
		for len(body) > 0 {
			select {
			case n := <-parts:
				_, _ = w.Write(body[:min(n, len(body))])
				_ = http.NewResponseController(w).Flush()
				body = body[min(n, len(body)):]
			case <-t.Context().Done():
				return
			}
		}
	}), "/docs")
	require.NoError(t, chromedp.Do(p.ctx, chromedp.Navigate("about:blank")))
	// limits are the timers of the page's limit that run. They never end.
	_, err := chromedp.Call(p.ctx, cdp.AddScriptToEvaluateOnNewDocument, cdp.AddScriptToEvaluateOnNewDocumentParams{
		Source: `
		window.limits = new Set();
		const set = setTimeout, clear = clearTimeout;
		window.setTimeout = (f, ms) => { const id = set(f, ms === 20000 ? 1e9 : ms); if (ms === 20000) limits.add(id); return id; };
		window.clearTimeout = (id) => { limits.delete(id); clear(id); };`,
	})
	require.NoError(t, err)
	traffic := &traffic{tiles: map[string]bool{}}
	require.NoError(t, chromedp.Listen(p.ctx, traffic.event))
	require.NoError(t, chromedp.Do(p.ctx, chromedp.Navigate(p.url+"/")))
	p.until(`document.querySelector(".live-live") && limits.size > 0`)
	for range 3 {
		assert.Positive(t, eval[int](p, `(window.before = [...limits]).length`))
		parts <- 100_000
		p.until(`before.every((id) => !limits.has(id))`)
	}
	parts <- 1 << 30
	p.until(`document.querySelector(".map canvas")?.width > 300`)
	_, tiles, aborted := traffic.take()
	assert.Equal(t, 1, tiles)
	assert.Zero(t, aborted)
}
