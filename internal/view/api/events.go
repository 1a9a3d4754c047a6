// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

func eventTable() *table[view.Event] {
	return &table[view.Event]{
		order: "-time",
		key:   func(e view.Event) string { return e.UID },
		columns: []column[view.Event]{
			{"time", func(e view.Event) any { return e.Time }},
			{"observed", func(e view.Event) any { return e.Observed }},
			{"severity", func(e view.Event) any { return eventSeverity(e.Severity) }},
			{"name", func(e view.Event) any { return e.Name }},
			{"cluster", func(e view.Event) any { return e.Cluster }},
			{"node", func(e view.Event) any { return e.Node }},
			{"gpu", func(e view.Event) any { return e.GPU }},
			{"body", func(e view.Event) any { return e.Body }},
			{"uid", func(e view.Event) any { return e.UID }},
		},
	}
}

// eventSeverities are the severities as OTLP has them, the lowest first. A number from 2 to 4 can follow.
var eventSeverities = []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}

// eventSeverity is sorted by how bad it is, the worst first.
type eventSeverity string

func (s eventSeverity) rank() float64 {
	return -float64(slices.Index(eventSeverities, strings.TrimRight(string(s), "234")))
}

func (h *Handler) eventRoutes() []route.Route {
	name := route.Parameter{Name: "name", Example: "hw.gpu.status", Description: "Only events of this name."}
	severity := route.Parameter{
		Name: "severity", Kind: route.Choice, Choices: eventSeverities,
		Description: "Only events of this severity or a higher one.",
	}
	since := route.Parameter{
		Name: "since", Kind: route.Moment, Example: "1h", Description: "Only events after this time: in RFC 3339, or a duration before now.",
	}
	return []route.Route{listRoute(h, eventTable(), route.Route{
		Path: "/api/v1/gpu/events", ID: "listEvents", Tag: "events", Summary: "The last events",
		Description: "What the receivers reported, the newest first: changes of state and faults, and processes, containers, pods and workloads that come and go. " +
			"Events of nodes and GPUs that are gone are kept, too.",
		Parameters: []route.Parameter{clusterParameter(), nodeParameter(), gpuParameter(), name, severity, since},
	}, func(s *view.Snapshot, r *route.Request) ([]view.Event, error) {
		return h.events(s, r, severity.Choices)
	})}
}

// events returns the events that a request asks for. What nothing is known of now may have events from before.
func (h *Handler) events(s *view.Snapshot, r *route.Request, severities []string) ([]view.Event, error) {
	want := eventsOf{cluster: r.Text("cluster"), node: r.Text("node"), since: r.Moment("since", s.Time), name: r.Text("name")}
	if gpu := r.Text("gpu"); gpu != "" {
		want.gpus = []string{gpu}
	}
	want.severities = severities[max(0, slices.Index(severities, r.Text("severity"))):]
	nodes, err := query.Select(s, scope(r))
	if err == nil && want.node != "" {
		want.node = nodes[0].Name
	}
	if err == nil && want.gpus != nil {
		err = want.resolve(nodes)
	}
	all := h.reader.Events()
	var ambiguous *query.AmbiguousError
	if err != nil && (errors.As(err, &ambiguous) || !slices.ContainsFunc(all, func(e view.Event) bool { return want.concerns(&e) })) {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(e view.Event) bool { return !want.matches(&e) }), nil
}

// eventsOf are the events that a request asks for.
type eventsOf struct {
	cluster, node string
	gpus          []string // nil: all
	name          string
	since         time.Time
	severities    []string // the lowest first
}

// resolve adds the partitions of the requested GPU, which may be named otherwise than by its ID.
func (f *eventsOf) resolve(nodes []*view.Node) error {
	gpu, err := query.GPU(nodes, f.gpus[0])
	if err != nil {
		return err
	}
	f.gpus = []string{gpu.ID}
	for _, part := range query.Partitions(nodes, gpu) {
		f.gpus = append(f.gpus, part.ID)
	}
	return nil
}

// concerns reports whether an event is of the cluster, node and GPU.
func (f *eventsOf) concerns(e *view.Event) bool {
	return (f.cluster == "" || f.cluster == query.ClusterName(e.Cluster)) && (f.node == "" || e.Node != nil && *e.Node == f.node) &&
		(f.gpus == nil || e.GPU != nil && slices.Contains(f.gpus, *e.GPU))
}

func (f *eventsOf) matches(e *view.Event) bool {
	return f.concerns(e) && (f.name == "" || e.Name == f.name) && (f.since.IsZero() || e.Time.After(f.since)) &&
		(len(f.severities) == 0 || f.severities[0] == "TRACE" || slices.Contains(f.severities, e.Severity))
}
