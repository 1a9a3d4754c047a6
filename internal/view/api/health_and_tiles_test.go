// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

func TestHealthAndTiles(t *testing.T) {
	assert.Equal(t, view.Health{Status: "ok", Time: viewtest.Now, Instance: "gateway-0", Generation: 42, Nodes: 6}, decode[view.Health](t, get(t, "/healthz")))
	assert.Len(t, decode[view.Tiles](t, get(t, "/api/v1/gpu/tiles")).Tiles, 11)
	assert.Empty(t, decode[view.Tiles](t, get(t, "/api/v1/gpu/tiles?since=42")).Tiles)
	assert.Equal(t, 400, get(t, "/api/v1/gpu/tiles?since=18446744073709551616").Code)
}

// The page asks for the tiles after each change, which must not cost the lists of a whole fleet. Tiles have no ages: time alone changes nothing.
func TestTilesNeedNoSnapshot(t *testing.T) {
	h := New(noSnapshot{viewtest.NewReader(viewtest.Snapshot())}, Settings{})
	w := ask(t, h, http.MethodGet, "/api/v1/gpu/tiles")
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Equal(t, http.StatusNotModified, ask(t, h, http.MethodGet, "/api/v1/gpu/tiles", "If-None-Match", w.Header().Get("ETag")).Code)
}

// noSnapshot panics if it is asked for a snapshot.
type noSnapshot struct{ *viewtest.Reader }

func (noSnapshot) Snapshot() *view.Snapshot { panic("a snapshot was requested") }
