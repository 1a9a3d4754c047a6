// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// Whatever a server sends and whichever keys are pressed, a screen of any size has that many lines, and nothing in them that a terminal obeys.
func FuzzScreen(f *testing.F) {
	for _, n := range viewtest.Snapshot().Nodes {
		for _, g := range n.GPUs {
			entry, err := json.Marshal(g)
			require.NoError(f, err)
			f.Add(entry, "1", uint8(80), uint8(24))
		}
	}
	f.Add([]byte(`{"containers":[null],"processes":[null],"temperatures":[{}],"parent":"\u001b[2J"}`), "3jr", uint8(10), uint8(3))
	f.Add([]byte(`null`), "5s/\x1b", uint8(0), uint8(0))
	f.Add([]byte(`{"name":"\u009b","body":"\u202e","time":"x"}`), "7r?", uint8(200), uint8(60))
	var entry []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, client.GPUs+"/"):
			_, _ = w.Write(entry)
			return
		case strings.HasSuffix(r.URL.Path, "/history"):
			_, _ = w.Write([]byte(`{"points":[` + string(entry) + `]}`))
			return
		}
		_, _ = w.Write([]byte(`{"time":"2026-11-22T12:00:00Z","total":3,"sources":[` + string(entry) + `],"items":[` + string(entry) + `],"gpus":[` + string(entry) + `]}`))
	}))
	f.Cleanup(server.Close)
	c, err := client.New(client.Settings{Server: server.URL})
	require.NoError(f, err)
	f.Cleanup(c.Close)
	f.Fuzz(func(t *testing.T, body []byte, keys string, width, height uint8) {
		entry = body
		m := newModel(Options{Server: server.URL, Notice: "notice", Places: "page", Why: func() []string { return []string{"why"} }})
		for _, key := range keys {
			m.key(tcell.NewEventKey(tcell.KeyRune, string(key), tcell.ModNone))
		}
		m.take(ask(t.Context(), c, m.panes, m.question(), time.Now))
		for _, key := range "j/x" {
			m.key(tcell.NewEventKey(tcell.KeyRune, string(key), tcell.ModNone))
		}
		check(t, m, int(width), int(height))
		var out strings.Builder
		if m.answer != nil {
			require.NoError(t, m.print(&out))
			assert.Equal(t, display.CleanLines(out.String()), out.String())
		}
		m.help, m.gpu = false, place{gpu: "id"}
		m.take(ask(t.Context(), c, m.panes, m.question(), time.Now))
		m.scrollBy(int(height))
		check(t, m, int(width), int(height))
	})
}

// check requires a whole screen without anything that a terminal obeys.
func check(t *testing.T, m *model, width, height int) {
	t.Helper()
	lines := m.frame(width, height, time.Now())
	assert.Len(t, lines, max(1, height))
	for _, l := range lines {
		for _, p := range l {
			assert.Equal(t, gpu.CleanText(p.text), p.text)
		}
	}
}
