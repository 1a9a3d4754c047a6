// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view/query"
)

// MetricsC is every GPU in form C.
type MetricsC struct {
	Timestamp time.Time `json:"timestamp"` // when the answer was made
	GPUs      []GPUC    `json:"gpus"`      // GPUs of all requested nodes
}

// GPUC is a GPU in form C.
type GPUC struct {
	ID          string   `json:"id"`           // gpu-<index>, with cluster and node before it if the answer has several nodes; hw.id without an index
	Name        *string  `json:"name"`         // model
	UUID        string   `json:"uuid"`         // hw.id
	Utilization *float64 `json:"utilization"`  // percent
	Memory      MemoryC  `json:"memory"`       // its memory
	Temperature *float64 `json:"temperature"`  // degrees Celsius
	Power       *float64 `json:"power_usage"`  // watts
	Clocks      ClocksC  `json:"clock_speeds"` // its clocks
}

// MemoryC is a GPU's memory in MiB.
type MemoryC struct {
	Total *int64 `json:"total"` // in MiB
	Used  *int64 `json:"used"`  // in MiB
	Free  *int64 `json:"free"`  // in MiB, without what the driver reserves
}

// ClocksC is how fast a GPU's parts run, in MHz.
type ClocksC struct {
	Graphics *int64 `json:"graphics"` // of the graphics part
	Memory   *int64 `json:"memory"`   // of the memory
}

func gpuC(d *device, prefix string) GPUC {
	id := d.ID // the only name of a GPU without a number
	if d.Index != nil {
		id = fmt.Sprintf("gpu-%d", *d.Index)
	}
	return GPUC{
		ID: prefix + id, Name: d.Model, UUID: d.ID, Utilization: percent(d.general()),
		Memory:      MemoryC{Total: mebibytes(d.Memory.Total), Used: mebibytes(d.Memory.Used), Free: mebibytes(d.Memory.Free)},
		Temperature: rounded(query.CoreTemperature(d.GPU)), Power: rounded(d.Power.Watts),
		Clocks: ClocksC{Graphics: megahertz(query.Entry(d.Clocks, "graphics")), Memory: megahertz(query.Entry(d.Clocks, "memory"))},
	}
}
