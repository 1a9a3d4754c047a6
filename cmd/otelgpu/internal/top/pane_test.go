// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/api"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// newClient returns a client of the API of a snapshot.
func newClient(t *testing.T, s *view.Snapshot) *client.Client {
	t.Helper()
	handler := api.New(viewtest.NewReader(s), api.Settings{})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(handler.Close)
	c, err := client.New(client.Settings{Server: server.URL, Timeout: 5 * time.Minute})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// The API can sort by every column by which a pane lets one sort, in both directions, and knows every scope.
func TestServerKnowsWhatPanesAsk(t *testing.T) {
	c := newClient(t, viewtest.Snapshot())
	for _, p := range panes() {
		orders := []order{{}, p.order}
		for _, h := range p.columns {
			if h.field != "" {
				orders = append(orders, order{h.field, false}, order{h.field, true})
			}
		}
		assert.Greater(t, len(orders), 5, p.name)
		for _, s := range []scope{{}, {cluster: "prod"}, {cluster: "prod", node: "n1"}, {cluster: "-"}, {cluster: "-", node: "workstation"}} {
			for _, o := range orders {
				_, err := p.load(t.Context(), c, s, o, "")
				require.NoError(t, err, "%s of %q by %v", p.name, s, o)
			}
		}
	}
}

// Pods are sorted here: no route of the API has them.
func TestPodsAreSorted(t *testing.T) {
	c := newClient(t, viewtest.Snapshot())
	names := func(o order) (names []string) {
		t.Helper()
		table, err := panes()[panePods].load(t.Context(), c, scope{}, o, "")
		require.NoError(t, err)
		for _, r := range table.rows {
			names = append(names, r.cells[2].text)
		}
		return names
	}
	const evil = "ml/<script>alert(1)</script>"
	assert.Equal(t, []string{"ml/train-0", evil}, names(order{"memory_bytes", true}))
	assert.Equal(t, []string{evil, "ml/train-0"}, names(order{"memory_bytes", false}))
	assert.Equal(t, []string{"ml/train-0", evil}, names(order{"held", true}))
	assert.Equal(t, []string{"ml/train-0", evil}, names(order{"held", false}), "what is not known is last")
}
