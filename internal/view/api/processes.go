// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

func processTable() *table[*view.Process] {
	return &table[*view.Process]{
		names: func(p *view.Process) []string { return userNames(&p.User) },
		key: func(p *view.Process) string {
			return keyOf(textOf(p.Cluster), p.Node, numberKey(p.GPUIndex), p.GPU, numberKey(&p.PID))
		},
		columns: []column[*view.Process]{
			{"cluster", func(p *view.Process) any { return p.Cluster }},
			{"node", func(p *view.Process) any { return p.Node }},
			{"gpu", func(p *view.Process) any { return p.GPU }},
			{"gpu_index", func(p *view.Process) any { return p.GPUIndex }},
			{"pid", func(p *view.Process) any { return p.PID }},
			{"type", func(p *view.Process) any { return p.Type }},
			{"name", func(p *view.Process) any { return p.Name }},
			{"command", func(p *view.Process) any { return p.Command }},
			{"command_line", func(p *view.Process) any { return p.CommandLine }},
			{"owner", func(p *view.Process) any { return p.Owner }},
			{"user_id", func(p *view.Process) any { return p.UserID }},
			{"started", func(p *view.Process) any { return p.Started }},
			{"memory_bytes", func(p *view.Process) any { return p.Memory }},
			{"utilization", func(p *view.Process) any { return p.Utilization }},
			{"memory_controller_utilization", func(p *view.Process) any { return p.MemoryControllerUtilization }},
			{"encoder_utilization", func(p *view.Process) any { return p.EncoderUtilization }},
			{"decoder_utilization", func(p *view.Process) any { return p.DecoderUtilization }},
			{"namespace", func(p *view.Process) any { return p.Namespace }},
			{"pod", func(p *view.Process) any { return p.Pod }},
			{"container", func(p *view.Process) any { return p.Container }},
			{"container_id", func(p *view.Process) any { return p.ContainerID }},
			{"workload_kind", func(p *view.Process) any { return p.WorkloadKind }},
			{"workload", func(p *view.Process) any { return p.Workload }},
			{"container_name", func(p *view.Process) any { return p.ContainerName }},
			{"slurm_job", func(p *view.Process) any { return p.SlurmJob }},
			{"slurm_sluid", func(p *view.Process) any { return p.SlurmSLUID }},
			{"slurm_user", func(p *view.Process) any { return p.SlurmUser }},
			{"slurm_account", func(p *view.Process) any { return p.SlurmAccount }},
			{"slurm_partition", func(p *view.Process) any { return p.SlurmPartition }},
			{"batch_system", func(p *view.Process) any { return p.BatchSystem }},
			{"batch_job", func(p *view.Process) any { return p.BatchJob }},
			{"systemd_unit", func(p *view.Process) any { return p.SystemdUnit }},
		},
	}
}

func (h *Handler) processRoutes() []route.Route {
	return []route.Route{listRoute(h, processTable(), route.Route{
		Path: "/api/v1/gpu/processes", ID: "listProcesses", Tag: "processes", Summary: "Processes on GPUs",
		Description: "Each process on each GPU that it uses, with its pod and workload if they are known.",
		Parameters: []route.Parameter{
			clusterParameter(), nodeParameter(), namespaceParameter(), podParameter(), gpuParameter(),
		},
	}, func(s *view.Snapshot, r *route.Request) ([]*view.Process, error) {
		nodes, gpu, err := selected(s, r)
		return query.Processes(nodes, gpu, users(r)), err
	})}
}

// selected returns the nodes of a request, and its GPU, nil if it requests all.
func selected(s *view.Snapshot, r *route.Request) ([]*view.Node, *view.GPU, error) {
	nodes, err := query.Nodes(s, scope(r))
	if err != nil || r.Text("gpu") == "" {
		return nodes, nil, err
	}
	gpu, err := query.GPU(nodes, r.Text("gpu"))
	return nodes, gpu, err
}
