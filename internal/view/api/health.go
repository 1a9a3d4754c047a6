// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

func (h *Handler) healthRoutes() []route.Route {
	return []route.Route{{
		Path: "/healthz", ID: "getHealth", Tag: "health", Summary: "Whether the exporter answers",
		Answer: view.Health{},
		Serve: func(w http.ResponseWriter, _ *route.Request) error {
			s := h.reader.Snapshot()
			w.Header().Set("Cache-Control", "no-store")
			return writeJSON(w, view.Health{Status: "ok", Time: s.Time, Instance: s.Instance, Generation: s.Generation, Nodes: len(s.Nodes)})
		},
	}}
}
