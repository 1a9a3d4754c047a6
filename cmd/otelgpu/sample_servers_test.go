// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/api"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// sampleServer serves the API of the sample fleet.
func sampleServer(t *testing.T) string { return serverOf(t, viewtest.Snapshot()) }

// emptyServer serves the API of one node without GPUs.
func emptyServer(t *testing.T) string { return serverOf(t, emptyFleet()) }

func emptyFleet() *view.Snapshot {
	s := viewtest.Snapshot()
	s.Clusters, s.Nodes = nil, slices.DeleteFunc(s.Nodes, func(n *view.Node) bool { return n.Name != "empty" })
	return s
}

func serverOf(t *testing.T, s *view.Snapshot) string {
	t.Helper()
	handler := api.New(viewtest.NewReader(s), api.Settings{})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(handler.Close)
	return server.URL
}
