// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// routes returns every path of the API. The OpenAPI document has them in this order.
func (h *Handler) routes() []route.Route {
	return slices.Concat(
		h.nodeRoutes(), h.metricsRoutes(), h.historyRoutes(), h.processRoutes(), h.workloadRoutes(), h.teamRoutes(), h.summaryRoutes(),
		h.problemRoutes(), h.eventRoutes(), h.infoRoutes(), h.tilesRoutes(), h.streamRoutes(), h.documentRoutes(), h.healthRoutes(),
	)
}
