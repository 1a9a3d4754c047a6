// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
)

// InfoB reports in form B whether there are GPUs.
type InfoB struct {
	Available bool     `json:"available"`        // at least one GPU was read
	GPUCount  int      `json:"gpu_count"`        // number of GPUs, without partitions
	NVML      bool     `json:"pynvml_installed"` // NVML reads a GPU
	Libraries []string `json:"libraries"`        // the sources that read a GPU, by name; not of the form
}

// MetricsB is a machine in form B. The averages of utilizations are in percent.
type MetricsB struct {
	Timestamp         time.Time `json:"timestamp"`                  // when the last message of the machine arrived
	Instance          string    `json:"instance_id"`                // name of the machine
	GPUCount          int       `json:"gpu_count"`                  // number of GPUs, without partitions
	GPUs              []GPUB    `json:"gpus"`                       // its GPUs, by index
	MemoryUsed        *int64    `json:"total_memory_used_mb"`       // sum over the GPUs, in MiB
	MemoryTotal       *int64    `json:"total_memory_total_mb"`      // sum over the GPUs, in MiB
	Utilization       *float64  `json:"average_gpu_utilization"`    // mean of the GPUs that have a value
	MemoryUtilization *float64  `json:"average_memory_utilization"` // of the GPUs' utilization.memory_percent
	Temperature       *float64  `json:"average_temperature"`        // mean of the GPUs that have a value
	Power             *float64  `json:"total_power_draw_watts"`     // sum over the GPUs
}

// GPUB is a GPU in form B.
type GPUB struct {
	Index            *int         `json:"gpu_id"`            // number of the GPU on its machine
	Name             *string      `json:"gpu_name"`          // model
	UUID             string       `json:"gpu_uuid"`          // hw.id
	DriverVersion    *string      `json:"driver_version"`    // version of the vendor's driver
	Utilization      UtilizationB `json:"utilization"`       // how busy its parts were
	Memory           MemoryB      `json:"memory"`            // its memory
	Temperature      TemperatureB `json:"temperature"`       // its temperature and limits
	Power            PowerB       `json:"power"`             // its power
	Clocks           ClocksB      `json:"clocks"`            // its clocks
	Processes        []ProcessB   `json:"processes"`         // processes on the GPU and on its partitions
	PerformanceState *string      `json:"performance_state"` // P0
	FanSpeed         *float64     `json:"fan_speed_percent"` // fastest fan
}

// UtilizationB is how busy a GPU's parts are, in percent.
type UtilizationB struct {
	GPU     *float64 `json:"gpu_percent"`     // the SMs or compute units
	Memory  *float64 `json:"memory_percent"`  // the memory controller
	Encoder *float64 `json:"encoder_percent"` // the video encoder
	Decoder *float64 `json:"decoder_percent"` // the video decoder
}

// MemoryB is a GPU's memory.
type MemoryB struct {
	Total       *int64   `json:"total_mb"`            // in MiB
	Used        *int64   `json:"used_mb"`             // in MiB
	Free        *int64   `json:"free_mb"`             // in MiB, without what the driver reserves
	Utilization *float64 `json:"utilization_percent"` // used of total
}

// TemperatureB is a GPU's temperature.
type TemperatureB struct {
	Current  *float64 `json:"current_celsius"`            // hottest sensor except the memory's
	Slowdown *float64 `json:"slowdown_threshold_celsius"` // at which clocks are throttled
	Shutdown *float64 `json:"shutdown_threshold_celsius"` // at which the GPU shuts down
}

// PowerB is what a GPU draws.
type PowerB struct {
	Draw  *float64 `json:"power_draw_watts"`    // power draw
	Limit *float64 `json:"power_limit_watts"`   // enforced power limit
	Usage *float64 `json:"power_usage_percent"` // draw of the limit
}

// ClocksB is how fast a GPU's parts run.
type ClocksB struct {
	Graphics *int64 `json:"graphics_clock_mhz"` // of the graphics part
	SM       *int64 `json:"sm_clock_mhz"`       // of the SMs
	Memory   *int64 `json:"memory_clock_mhz"`   // of the memory
}

// ProcessB is a process on a GPU.
type ProcessB struct {
	PID    int     `json:"pid"`            // process ID
	Name   *string `json:"process_name"`   // name of the program, else its command
	Memory *int64  `json:"used_memory_mb"` // GPU memory that it uses, in MiB
}

// FromInfoB returns what is read of nodes, in form B.
func FromInfoB(info *view.Info, nodes []*view.Node) InfoB {
	b := InfoB{Available: info.Available, GPUCount: info.GPUs, Libraries: []string{}}
	for _, n := range nodes {
		for i := range n.Sources {
			if s := &n.Sources[i]; query.Reads(n, s) && !slices.Contains(b.Libraries, s.Name) {
				b.Libraries = append(b.Libraries, s.Name)
			}
		}
	}
	slices.Sort(b.Libraries)
	b.NVML = slices.Contains(b.Libraries, "nvml")
	return b
}

// FromNodeB returns a machine in form B. Its time is the time of the machine's last message.
func FromNodeB(n *view.Node) MetricsB {
	all := query.Summarize(query.Scope{}, []*view.Node{n}, query.ByNothing)[0]
	b := MetricsB{
		Timestamp: n.LastSeen, Instance: n.Name, GPUs: []GPUB{}, GPUCount: all.GPUs, MemoryUsed: mebibytes(all.Memory.Used),
		MemoryTotal: mebibytes(all.Memory.Total), Utilization: percent(all.Utilization), Temperature: rounded(all.Temperature), Power: rounded(all.Power),
	}
	var memory query.Mean
	for _, d := range devices(n) {
		b.GPUs = append(b.GPUs, gpuB(&d))
		memory.Add(d.Utilization.MemoryController)
	}
	b.MemoryUtilization = percent(memory.Value())
	return b
}

func gpuB(d *device) GPUB {
	g := GPUB{
		Index: d.Index, Name: d.Model, UUID: d.ID, DriverVersion: d.DriverVersion, FanSpeed: percent(d.fan()), Processes: []ProcessB{},
		Utilization: UtilizationB{
			GPU: percent(d.general()), Memory: percent(d.Utilization.MemoryController),
			Encoder: percent(d.Utilization.Encoder), Decoder: percent(d.Utilization.Decoder),
		},
		Memory: MemoryB{
			Total: mebibytes(d.Memory.Total), Used: mebibytes(d.Memory.Used), Free: mebibytes(d.Memory.Free), Utilization: percent(d.Memory.Utilization),
		},
		Power: PowerB{Draw: rounded(d.Power.Watts), Limit: rounded(d.Power.Limit), Usage: percent(d.Power.Utilization)},
		Clocks: ClocksB{
			Graphics: megahertz(query.Entry(d.Clocks, "graphics")), SM: megahertz(query.Entry(d.Clocks, "sm")), Memory: megahertz(query.Entry(d.Clocks, "memory")),
		},
	}
	if core := d.core(); core != nil {
		g.Temperature = TemperatureB{
			Current: rounded(core.Celsius), Slowdown: rounded(query.Entry(core.Limits, "high.degraded")), Shutdown: rounded(query.Entry(core.Limits, "high.critical")),
		}
	}
	if d.PerformanceState != nil {
		state := fmt.Sprintf("P%d", *d.PerformanceState)
		g.PerformanceState = &state
	}
	for _, p := range d.processes() {
		g.Processes = append(g.Processes, ProcessB{PID: p.PID, Name: processName(p), Memory: mebibytes(p.Memory)})
	}
	return g
}
