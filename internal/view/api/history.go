// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

func (h *Handler) historyRoutes() []route.Route {
	metric := route.Parameter{
		Name: "metric", Required: true, Example: "hw.gpu.utilization",
		Description: "The metric. For an unknown metric, the answer lists the metrics that have a history.",
	}
	since := route.Parameter{
		Name: "since", Kind: route.Moment, Default: "1h", Example: "5m",
		Description: "Points after this time: in RFC 3339, or a duration before now.",
	}
	return []route.Route{{
		Path: "/api/v1/gpu/devices/{id}/history", ID: "getHistory", Tag: "GPUs", Summary: "The recent past of one quantity of a GPU",
		Description: "Points by time; older points are further apart. Each has the mean, the minimum and the maximum of what was read until the next one. " +
			"A null is a gap: nothing was read then. If since is before the kept history, shortened is true. A GPU without points of the metric has an empty list.",
		Parameters: []route.Parameter{idParameter(), clusterParameter(), nodeParameter(), metric, since},
		Answer:     view.History{}, EntityTag: true, Problems: []int{http.StatusNotFound, http.StatusConflict},
		Serve: h.history,
	}}
}

func (h *Handler) history(w http.ResponseWriter, r *route.Request) error {
	s, changed := h.snapshot(w, r)
	if !changed {
		return nil
	}
	metrics := h.reader.HistoryMetrics()
	if !slices.Contains(metrics, r.Text("metric")) {
		return route.BadParameter("metric", errors.New("no history is kept of it; give one of "+strings.Join(metrics, ", ")))
	}
	nodes, err := query.Select(s, scope(r))
	if err != nil {
		return err
	}
	since := r.Moment("since", s.Time)
	gpu, err := query.GPU(nodes, r.Text("id"))
	if err != nil {
		// A GPU that is gone keeps its history for a while.
		if history, ok := h.reader.History(r.Text("id"), r.Text("metric"), since); ok && scope(r) == (query.Scope{}) {
			return h.writeHistory(w, history, s.Time.Sub(since))
		}
		return err
	}
	history, ok := h.reader.History(gpu.ID, r.Text("metric"), since)
	if !ok {
		history = view.History{ID: gpu.ID, Metric: r.Text("metric"), Points: []view.HistoryPoint{}}
	}
	return h.writeHistory(w, history, s.Time.Sub(since))
}

func (h *Handler) writeHistory(w http.ResponseWriter, history view.History, age time.Duration) error {
	history.Kept, history.Shortened = h.reader.HistoryFor().Seconds(), age > h.reader.HistoryFor()
	return writeJSON(w, history)
}
