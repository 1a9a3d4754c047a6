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
		Description: "The metric. For an unknown metric, the answer lists the metrics with a history.",
	}
	since := route.Parameter{
		Name: "since", Kind: route.Moment, Default: "1h", Example: "5m",
		Description: "Points after this time: in RFC 3339, or a duration before now.",
	}
	cluster, node := nodePath()
	return []route.Route{{
		Path: "/api/v1/gpu/nodes/{cluster}/{node}/history", ID: "getNodeHistory", Tag: "nodes", Summary: "The recent past of one quantity of each GPU of a node",
		Description: "One history for each GPU, in the order of their indexes. Partitions are left out.",
		Parameters:  []route.Parameter{cluster, node, metric, since},
		Answer:      view.List[view.History]{}, EntityTag: true, Problems: []int{http.StatusNotFound}, Serve: h.nodeHistory,
	}, {
		Path: "/api/v1/gpu/devices/{id}/history", ID: "getHistory", Tag: "GPUs", Summary: "The recent past of one quantity of a GPU",
		Description: "Points by time; older points are further apart. Each contains the mean, the minimum and the maximum of what was read until the next one. " +
			"A null is a gap: nothing was read then. If since is before the kept history, shortened is true. For a GPU without points of the metric, the list is empty.",
		Parameters: []route.Parameter{idParameter(), clusterParameter(), nodeParameter(), metric, since},
		Answer:     view.History{}, EntityTag: true, Problems: []int{http.StatusNotFound, http.StatusConflict},
		Serve: h.history,
	}}
}

func (h *Handler) nodeHistory(w http.ResponseWriter, r *route.Request) error {
	s, changed := h.snapshot(w, r)
	if !changed {
		return nil
	}
	if err := h.knownMetric(r); err != nil {
		return err
	}
	n, err := query.Node(s, scope(r))
	if err != nil {
		return err
	}
	since := r.Moment("since", s.Time)
	list := view.List[view.History]{Time: s.Time, Items: []view.History{}}
	for _, g := range n.GPUs {
		if g.Parent == nil {
			list.Items = append(list.Items, h.historyOf(g.ID, r.Text("metric"), since, s.Time))
		}
	}
	list.Total = len(list.Items)
	return writeJSON(w, list)
}

// knownMetric returns an error if no history is kept of the requested metric.
func (h *Handler) knownMetric(r *route.Request) error {
	if metrics := h.reader.HistoryMetrics(); !slices.Contains(metrics, r.Text("metric")) {
		return route.BadParameter("metric", errors.New("no history is kept of it; give one of "+strings.Join(metrics, ", ")))
	}
	return nil
}

func (h *Handler) history(w http.ResponseWriter, r *route.Request) error {
	s, changed := h.snapshot(w, r)
	if !changed {
		return nil
	}
	if err := h.knownMetric(r); err != nil {
		return err
	}
	nodes, err := query.Select(s, scope(r))
	if err != nil {
		return err
	}
	since := r.Moment("since", s.Time)
	gpu, err := query.GPU(nodes, r.Text("id"))
	if err != nil {
		// A GPU that is gone keeps its history for a while.
		if _, ok := h.reader.History(r.Text("id"), r.Text("metric"), since); ok && scope(r) == (query.Scope{}) {
			return writeJSON(w, h.historyOf(r.Text("id"), r.Text("metric"), since, s.Time))
		}
		return err
	}
	return writeJSON(w, h.historyOf(gpu.ID, r.Text("metric"), since, s.Time))
}

// historyOf returns the history of a GPU; without points if no history is kept.
func (h *Handler) historyOf(id, metric string, since, now time.Time) view.History {
	history, ok := h.reader.History(id, metric, since)
	if !ok {
		history = view.History{ID: id, Metric: metric, Points: []view.HistoryPoint{}}
	}
	history.Kept, history.Shortened = h.reader.HistoryFor().Seconds(), now.Sub(since) > h.reader.HistoryFor()
	return history
}
