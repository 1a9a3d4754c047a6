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
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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
		m.take(ask(t.Context(), c, &m.panes[m.pane], m.question(), time.Now))
		for _, key := range "j/x" {
			m.key(tcell.NewEventKey(tcell.KeyRune, string(key), tcell.ModNone))
		}
		lines := m.frame(int(width), int(height), time.Now())
		assert.Len(t, lines, max(1, int(height)))
		for _, l := range lines {
			for _, p := range l {
				assert.Equal(t, gpu.CleanText(p.text), p.text)
			}
		}
		var out strings.Builder
		if m.answer != nil {
			require.NoError(t, m.print(&out))
			assert.Equal(t, display.CleanLines(out.String()), out.String())
		}
	})
}
