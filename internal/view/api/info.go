// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

func (h *Handler) infoRoutes() []route.Route {
	return []route.Route{{
		Path: "/api/v1/gpu/info", ID: "getInfo", Tag: "sources", Summary: "Whether GPUs can be read",
		Description: "How many GPUs and nodes there are, vendors and drivers, and each source on each node and of each cluster: readable, or why not. " +
			"A cluster without GPUs is not an error here.",
		Parameters: []route.Parameter{clusterParameter(), nodeParameter()},
		Answer:     view.Info{}, EntityTag: true, Problems: []int{http.StatusNotFound, http.StatusConflict},
		Serve: func(w http.ResponseWriter, r *route.Request) error {
			s, changed := h.snapshot(w, r)
			if !changed {
				return nil
			}
			nodes, err := query.Select(s, scope(r))
			if err != nil {
				return err
			}
			return writeJSON(w, query.Info(s, scope(r), nodes))
		},
	}}
}
