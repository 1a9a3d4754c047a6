// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

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
