// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
)

// NodeA is a node in form A.
type NodeA struct {
	Name        string            `json:"node_name"`
	Cluster     *string           `json:"cluster_id"`
	GPUs        []GPUA            `json:"gpus"`
	GPUCount    *int              `json:"gpu_count"` // null: the node cannot be read
	TotalMemory *int64            `json:"total_memory_mb"`
	Labels      map[string]string `json:"labels"`
}

// GPUA is a GPU in form A.
type GPUA struct {
	Index             *int     `json:"index"`
	UUID              string   `json:"uuid"`
	Name              *string  `json:"name"`
	DriverVersion     *string  `json:"driver_version"`
	Temperature       *float64 `json:"temperature_celsius"`
	UtilizationGPU    *float64 `json:"utilization_gpu_percent"`
	UtilizationMemory *float64 `json:"utilization_memory_percent"` // of the memory controller
	MemoryTotal       *int64   `json:"memory_total_mb"`
	MemoryUsed        *int64   `json:"memory_used_mb"`
	MemoryFree        *int64   `json:"memory_free_mb"`
	PowerDraw         *float64 `json:"power_draw_watts"`
	PowerLimit        *float64 `json:"power_limit_watts"`
	PCIeGeneration    *int     `json:"pcie_generation"`
	PCIeLinkWidth     *int     `json:"pcie_link_width"`
	FanSpeed          *float64 `json:"fan_speed_percent"`
}

// ProcessA is a process on a GPU in form A. The utilizations are in percent.
type ProcessA struct {
	PID                int      `json:"pid"`
	GPUIndex           *int     `json:"gpu_index"`
	Type               string   `json:"process_type"` // compute, graphics, unknown
	SMUtilization      *float64 `json:"sm_utilization"`
	MemoryUtilization  *float64 `json:"memory_utilization"` // of the memory controller
	EncoderUtilization *float64 `json:"encoder_utilization"`
	DecoderUtilization *float64 `json:"decoder_utilization"`
	Memory             *int64   `json:"fb_memory_mb"`
	Command            *string  `json:"command"`
	Node               string   `json:"node_name"`
	Cluster            *string  `json:"cluster_id"`
}

// SummaryA is the summary of a cluster, or of everything, in form A.
type SummaryA struct {
	Cluster           *string  `json:"cluster_id"`
	Nodes             int      `json:"node_count"`
	GPUs              int      `json:"gpu_count"`
	TotalMemory       *int64   `json:"total_memory_mb"`
	UsedMemory        *int64   `json:"used_memory_mb"`
	MemoryUtilization *float64 `json:"memory_utilization_percent"` // used of total
	Utilization       *float64 `json:"average_gpu_utilization_percent"`
	Temperature       *float64 `json:"average_temperature_celsius"`
}

// FromNodeA returns a node in form A.
func FromNodeA(n *view.Node) NodeA {
	a := NodeA{Name: n.Name, Cluster: n.Cluster, GPUs: []GPUA{}, TotalMemory: mebibytes(n.Memory.Total), Labels: n.Labels}
	for _, d := range devices(n) {
		a.GPUs = append(a.GPUs, gpuA(&d))
	}
	if count := len(a.GPUs); count > 0 || !unreadable(n) {
		a.GPUCount = &count
	}
	if a.Labels == nil {
		a.Labels = map[string]string{}
	}
	return a
}

func gpuA(d *device) GPUA {
	return GPUA{
		Index: d.Index, UUID: d.ID, Name: d.Model, DriverVersion: d.DriverVersion, Temperature: rounded(query.CoreTemperature(d.GPU)),
		UtilizationGPU: percent(d.general()), UtilizationMemory: percent(d.Utilization.MemoryController),
		MemoryTotal: mebibytes(d.Memory.Total), MemoryUsed: mebibytes(d.Memory.Used), MemoryFree: mebibytes(d.Memory.Free),
		PowerDraw: rounded(d.Power.Watts), PowerLimit: rounded(d.Power.Limit),
		PCIeGeneration: d.PCIe.Generation, PCIeLinkWidth: d.PCIe.Width, FanSpeed: percent(d.fan()),
	}
}

// FromProcessA returns a process in form A. index is the number of the GPU; for a process on a partition, the number of the package.
func FromProcessA(p *view.Process, index *int) ProcessA {
	a := ProcessA{
		PID: p.PID, GPUIndex: index, Type: "unknown", SMUtilization: percent(p.Utilization), MemoryUtilization: percent(p.MemoryControllerUtilization),
		EncoderUtilization: percent(p.EncoderUtilization), DecoderUtilization: percent(p.DecoderUtilization), Memory: mebibytes(p.Memory),
		Command: processName(p), Node: p.Node, Cluster: p.Cluster,
	}
	if p.Type != nil {
		switch *p.Type {
		case "compute", "mps", "compute_graphics":
			a.Type = "compute"
		case "graphics":
			a.Type = "graphics"
		}
	}
	return a
}

// FromSummaryA returns a summary in form A.
func FromSummaryA(s *view.Summary) SummaryA {
	return SummaryA{
		Cluster: s.Cluster, Nodes: s.Nodes, GPUs: s.GPUs, TotalMemory: mebibytes(s.Memory.Total), UsedMemory: mebibytes(s.Memory.Used),
		MemoryUtilization: percent(s.MemoryUtilization), Utilization: percent(s.Utilization), Temperature: rounded(s.Temperature),
	}
}
