// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"math"
	"net/http"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

func (h *Handler) tilesRoutes() []route.Route {
	return []route.Route{{
		Path: "/api/v1/gpu/tiles", ID: "getTiles", Tag: "page", Summary: "What changed on the fleet's page",
		Description: "The GPUs that changed after a generation, in the short form that the page of a fleet needs.",
		Parameters: []route.Parameter{
			{
				Name: "since", Kind: route.Integer, Max: math.MaxUint64, Default: "0",
				Description: "The generation of the tiles that are known already; 0 if there are no known tiles.",
			},
			{Name: "label", Example: "topology.kubernetes.io/zone", Description: "Each tile has the value of this label of its node."},
		},
		Answer: view.Tiles{}, EntityTag: true,
		Serve: func(w http.ResponseWriter, r *route.Request) error {
			if !h.changed(w, r, h.reader.Generation()) { // a tile has no ages
				return nil
			}
			return writeJSON(w, h.reader.Tiles(r.Integer("since"), r.Text("label")))
		},
	}}
}
