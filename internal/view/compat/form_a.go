// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
)

// NodeA is a node in form A.
type NodeA struct {
	Name        string            `json:"node_name"`       // k8s.node.name, else host.name
	Cluster     *string           `json:"cluster_id"`      // k8s.cluster.name; null outside clusters
	GPUs        []GPUA            `json:"gpus"`            // by index; a GPU with partitions is one entry
	GPUCount    *int              `json:"gpu_count"`       // number of entries in gpus; null: the node cannot be read
	TotalMemory *int64            `json:"total_memory_mb"` // sum over the GPUs, in MiB
	Labels      map[string]string `json:"labels"`          // labels of the Kubernetes node that the receiver sends
}

// GPUA is a GPU in form A. Fields that are whole numbers in its clients are rounded, and the field of the same name with _exact has the decimals.
type GPUA struct {
	Index                  *int       `json:"index"`                            // number of the GPU on its node
	UUID                   string     `json:"uuid"`                             // hw.id
	Name                   *string    `json:"name"`                             // model
	DriverVersion          *string    `json:"driver_version"`                   // version of the vendor's driver
	Temperature            *int64     `json:"temperature_celsius"`              // hottest sensor except the memory's, rounded
	TemperatureExact       *float64   `json:"temperature_celsius_exact"`        // the same, with decimals
	UtilizationGPU         *int64     `json:"utilization_gpu_percent"`          // how busy the GPU was, rounded
	UtilizationGPUExact    *float64   `json:"utilization_gpu_percent_exact"`    // the same, with decimals
	UtilizationMemory      *int64     `json:"utilization_memory_percent"`       // how busy the memory controller was, rounded
	UtilizationMemoryExact *float64   `json:"utilization_memory_percent_exact"` // the same, with decimals
	MemoryTotal            *int64     `json:"memory_total_mb"`                  // in MiB
	MemoryUsed             *int64     `json:"memory_used_mb"`                   // in MiB
	MemoryFree             *int64     `json:"memory_free_mb"`                   // in MiB, without what the driver reserves
	PowerDraw              *float64   `json:"power_draw_watts"`                 // power draw
	PowerLimit             *float64   `json:"power_limit_watts"`                // enforced power limit
	PCIeGeneration         *int       `json:"pcie_generation"`                  // present generation of the PCIe link
	PCIeLinkWidth          *int       `json:"pcie_link_width"`                  // present number of PCIe lanes
	FanSpeed               *int64     `json:"fan_speed_percent"`                // fastest fan, rounded
	FanSpeedExact          *float64   `json:"fan_speed_percent_exact"`          // the same, with decimals
	Processes              []ProcessA `json:"processes"`                        // running processes on the GPU and on its partitions
}

// ProcessA is a process on a GPU in form A. Utilizations are in percent. They are rounded as the fields of GPUA are.
type ProcessA struct {
	PID                     int      `json:"pid"`                       // process ID
	GPUIndex                *int     `json:"gpu_index"`                 // number of the GPU on its node
	Type                    string   `json:"process_type"`              // compute, graphics, unknown
	SMUtilization           *int64   `json:"sm_utilization"`            // of the SMs or compute units, rounded
	SMUtilizationExact      *float64 `json:"sm_utilization_exact"`      // the same, with decimals
	MemoryUtilization       *int64   `json:"memory_utilization"`        // of the memory controller, rounded
	MemoryUtilizationExact  *float64 `json:"memory_utilization_exact"`  // the same, with decimals
	EncoderUtilization      *int64   `json:"encoder_utilization"`       // of the video encoder, rounded
	EncoderUtilizationExact *float64 `json:"encoder_utilization_exact"` // the same, with decimals
	DecoderUtilization      *int64   `json:"decoder_utilization"`       // of the video decoder, rounded
	DecoderUtilizationExact *float64 `json:"decoder_utilization_exact"` // the same, with decimals
	Memory                  *int64   `json:"fb_memory_mb"`              // GPU memory that it uses, in MiB
	Command                 *string  `json:"command"`                   // name of the program, else its command
	Node                    string   `json:"node_name"`                 // k8s.node.name, else host.name
	Cluster                 *string  `json:"cluster_id"`                // k8s.cluster.name; null outside clusters
}

// SummaryA is the summary of a cluster, or of everything, in form A.
type SummaryA struct {
	Cluster           *string  `json:"cluster_id"`                      // the requested cluster; null: everything
	Nodes             int      `json:"node_count"`                      // number of nodes
	GPUs              int      `json:"gpu_count"`                       // number of GPUs; partitions are not counted
	TotalMemory       *int64   `json:"total_memory_mb"`                 // sum over the GPUs, in MiB
	UsedMemory        *int64   `json:"used_memory_mb"`                  // sum over the GPUs, in MiB
	MemoryUtilization *float64 `json:"memory_utilization_percent"`      // used of total memory
	Utilization       *float64 `json:"average_gpu_utilization_percent"` // mean of the GPUs that have a value
	Temperature       *float64 `json:"average_temperature_celsius"`     // mean of the GPUs that have a value
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
	temperature, general, fan := rounded(query.CoreTemperature(d.GPU)), percent(d.general()), percent(d.fan())
	controller := percent(d.Utilization.MemoryController)
	a := GPUA{
		Index: d.Index, UUID: d.ID, Name: d.Model, DriverVersion: d.DriverVersion, Temperature: whole(temperature, 1), TemperatureExact: temperature,
		UtilizationGPU: whole(general, 1), UtilizationGPUExact: general, UtilizationMemory: whole(controller, 1), UtilizationMemoryExact: controller,
		MemoryTotal: mebibytes(d.Memory.Total), MemoryUsed: mebibytes(d.Memory.Used), MemoryFree: mebibytes(d.Memory.Free),
		PowerDraw: rounded(d.Power.Watts), PowerLimit: rounded(d.Power.Limit),
		PCIeGeneration: d.PCIe.Generation, PCIeLinkWidth: d.PCIe.Width, FanSpeed: whole(fan, 1), FanSpeedExact: fan, Processes: []ProcessA{},
	}
	for _, p := range d.processes() {
		a.Processes = append(a.Processes, FromProcessA(p, d.Index))
	}
	return a
}

// FromProcessA returns a process in form A. index is the number of the GPU; for a process on a partition, the number of the package.
func FromProcessA(p *view.Process, index *int) ProcessA {
	sm, controller := percent(p.Utilization), percent(p.MemoryControllerUtilization)
	encoder, decoder := percent(p.EncoderUtilization), percent(p.DecoderUtilization)
	a := ProcessA{
		PID: p.PID, GPUIndex: index, Type: "unknown", SMUtilization: whole(sm, 1), SMUtilizationExact: sm,
		MemoryUtilization: whole(controller, 1), MemoryUtilizationExact: controller, EncoderUtilization: whole(encoder, 1), EncoderUtilizationExact: encoder,
		DecoderUtilization: whole(decoder, 1), DecoderUtilizationExact: decoder, Memory: mebibytes(p.Memory),
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
