// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// gpuTable describes GPUs. The health of a partition is the health of its package, which the caller knows.
func gpuTable(health func(*view.GPU) view.HealthClass) *table[*view.GPU] {
	return &table[*view.GPU]{
		names: holdersAndUsers,
		columns: []column[*view.GPU]{
			{"cluster", func(g *view.GPU) any { return g.Cluster }},
			{"node", func(g *view.GPU) any { return g.Node }},
			{"index", func(g *view.GPU) any { return g.Index }},
			{"id", func(g *view.GPU) any { return g.ID }},
			{"parent", func(g *view.GPU) any { return g.Parent }},
			{"name", func(g *view.GPU) any { return g.Name }},
			{"vendor", func(g *view.GPU) any { return g.Vendor }},
			{"model", func(g *view.GPU) any { return g.Model }},
			{"pci_address", func(g *view.GPU) any { return g.PCIAddress }},
			{"driver_version", func(g *view.GPU) any { return g.DriverVersion }},
			{"partition_profile", func(g *view.GPU) any { return g.PartitionProfile }},
			{"last_seen", func(g *view.GPU) any { return g.LastSeen }},
			{"stale", func(g *view.GPU) any { return g.Stale }},
			{"status", func(g *view.GPU) any { return g.Status }},
			{"health", func(g *view.GPU) any { return health(g) }},
			{"faults", func(g *view.GPU) any { return g.Faults }},
			{"throttled", func(g *view.GPU) any { return g.Throttled }},
			{"utilization", func(g *view.GPU) any { return g.Utilization.General }},
			{"encoder_utilization", func(g *view.GPU) any { return g.Utilization.Encoder }},
			{"decoder_utilization", func(g *view.GPU) any { return g.Utilization.Decoder }},
			{"memory_controller_utilization", func(g *view.GPU) any { return g.Utilization.MemoryController }},
			{"memory_total_bytes", func(g *view.GPU) any { return g.Memory.Total }},
			{"memory_used_bytes", func(g *view.GPU) any { return g.Memory.Used }},
			{"memory_free_bytes", func(g *view.GPU) any { return g.Memory.Free }},
			{"memory_utilization", func(g *view.GPU) any { return g.Memory.Utilization }},
			{"temperature_celsius", func(g *view.GPU) any { return query.CoreTemperature(g) }},
			{"power_watts", func(g *view.GPU) any { return g.Power.Watts }},
			{"power_limit_watts", func(g *view.GPU) any { return g.Power.Limit }},
			{"power_utilization", func(g *view.GPU) any { return g.Power.Utilization }},
			{"energy_joules", func(g *view.GPU) any { return g.Power.Energy }},
			{"clock_graphics_hertz", func(g *view.GPU) any { return query.Entry(g.Clocks, "graphics") }},
			{"clock_memory_hertz", func(g *view.GPU) any { return query.Entry(g.Clocks, "memory") }},
			{"performance_state", func(g *view.GPU) any { return g.PerformanceState }},
			{"allocated", func(g *view.GPU) any { return g.Allocated }},
			{"idle_since", func(g *view.GPU) any { return query.IdleSince(g) }},
			{"holder", func(g *view.GPU) any { return query.Holder(g) }},
			{"processes", func(g *view.GPU) any { return query.ProcessCount(g) }},
		},
	}
}

func holdersAndUsers(g *view.GPU) []string {
	names := []string{textOf(g.SerialNumber)}
	for _, c := range g.Containers {
		names = append(names, userNames(&c.User)...)
	}
	for _, p := range g.Processes {
		names = append(names, userNames(&p.User)...)
	}
	return names
}

// gpuHealth returns the health of each GPU, and of a partition the health of its package.
func gpuHealth(gpus []*view.GPU) func(*view.GPU) view.HealthClass {
	packages := map[string]view.HealthClass{}
	for _, g := range gpus {
		if g.Parent == nil {
			packages[g.ID] = g.Health()
		}
	}
	return func(g *view.GPU) view.HealthClass {
		if g.Parent != nil {
			if health, known := packages[*g.Parent]; known {
				return health
			}
		}
		return g.Health()
	}
}

// gpuKeys returns identities that put the GPUs of a node in the order of their indexes, each partition behind its package.
func gpuKeys(gpus []*view.GPU) func(*view.GPU) string {
	packages := map[string]*int{}
	for _, g := range gpus {
		if g.Parent == nil {
			packages[g.ID] = g.Index
		}
	}
	return func(g *view.GPU) string {
		if g.Parent == nil {
			return keyOf(textOf(g.Cluster), g.Node, numberKey(g.Index), g.ID)
		}
		return keyOf(textOf(g.Cluster), g.Node, numberKey(packages[*g.Parent]), *g.Parent, numberKey(g.Index), g.ID)
	}
}

func (h *Handler) metricsRoutes() []route.Route {
	t := gpuTable((*view.GPU).Health)
	status := route.Parameter{
		Name: "status", Kind: route.Choice, Choices: []string{"ok", "degraded", "failed", "predicted_failure", "unknown"},
		Description: "Only GPUs of this status; unknown: GPUs without a status.",
	}
	return []route.Route{
		{
			Path: "/api/v1/gpu/metrics", ID: "listMetrics", Tag: "GPUs", Summary: "GPUs and what was measured",
			Description: "Each GPU and each partition, with sums and means over all pages. Sums never count both a GPU and its partitions.",
			Parameters: slices.Concat([]route.Parameter{clusterParameter(), nodeParameter()}, userParameters(),
				[]route.Parameter{gpuParameter(), status}, t.parameters()),
			Answer: view.Metrics{}, CSV: true, EntityTag: true, Problems: []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable},
			Serve: func(w http.ResponseWriter, r *route.Request) error { return h.metrics(w, r) },
		},
		{
			Path: "/api/v1/gpu/metrics/{id}", ID: "getMetrics", Tag: "GPUs", Summary: "One GPU",
			Description: "A GPU or a partition, and the partitions into which it is divided.",
			Parameters:  []route.Parameter{idParameter(), clusterParameter(), nodeParameter()},
			Answer:      view.GPUMetrics{}, EntityTag: true, Problems: []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable},
			Serve: h.gpu,
		},
	}
}

func (h *Handler) metrics(w http.ResponseWriter, r *route.Request) error {
	s, changed := h.snapshot(w, r)
	if !changed {
		return nil
	}
	health := (*view.GPU).Health
	t := gpuTable(func(g *view.GPU) view.HealthClass { return health(g) })
	var summary view.Summary
	p, err := paged(h, r, t, func() ([]*view.GPU, error) {
		nodes, gpu, err := selected(s, r)
		if err != nil {
			return nil, err
		}
		if err := query.Readable(s, scope(r), nodes); err != nil {
			return nil, err
		}
		nodes = narrowed(r, t, nodes, gpu)
		summary = query.Summarize(scope(r), nodes, query.ByNothing)[0]
		gpus := query.GPUs(nodes)
		t.key, health = gpuKeys(gpus), gpuHealth(gpus)
		return gpus, nil
	})
	if err != nil {
		return err
	}
	return writeList(w, r, t, p, view.Metrics{
		Time: s.Time, Instance: s.Instance, Summary: summary, Total: p.total, Next: p.next, GPUs: []*view.GPU{},
	})
}

// narrowed returns nodes with the GPUs that a request asks for.
func narrowed(r *route.Request, t *table[*view.GPU], nodes []*view.Node, gpu *view.GPU) []*view.Node {
	user, status, text := users(r), r.Text("status"), strings.ToLower(r.Text("search"))
	if gpu == nil && user == (query.UserFilter{}) && status == "" && text == "" {
		return nodes
	}
	return query.Keep(nodes, func(g *view.GPU) bool {
		return (gpu == nil || query.PartOf(g, gpu)) && user.MatchesGPU(g) && (status == "" || status == statusOf(g)) && (text == "" || t.contains(g, text))
	})
}

func statusOf(g *view.GPU) string {
	if g.Status == nil {
		return "unknown"
	}
	return *g.Status
}

func (h *Handler) gpu(w http.ResponseWriter, r *route.Request) error {
	s, changed := h.snapshot(w, r)
	if !changed {
		return nil
	}
	nodes, err := query.Nodes(s, scope(r))
	if err != nil {
		return err
	}
	gpu, err := query.GPU(nodes, r.Text("id"))
	if err != nil {
		if unreadable := query.Readable(s, scope(r), nodes); unreadable != nil {
			return unreadable
		}
		return err
	}
	return writeJSON(w, view.GPUMetrics{Time: s.Time, Instance: s.Instance, GPU: gpu, Partitions: query.Partitions(nodes, gpu)})
}
