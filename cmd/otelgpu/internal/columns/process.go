// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package columns

import (
	"strconv"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// Process is a process on one GPU as a row.
type Process = *view.Process

// Processes are the columns of processes.
func Processes() Set[Process] {
	return Set[Process]{
		identity(optional(text("CLUSTER", "cluster", 58, func(p Process) *string { return p.Cluster })), 8),
		identity(text("NODE", "node", 60, func(p Process) *string { return &p.Node }), 14),
		{
			Title: "GPU", Field: "gpu", Keep: 80, Identity: true, Min: 8,
			Text: func(p Process) string {
				if p.GPUIndex != nil {
					return strconv.Itoa(*p.GPUIndex)
				}
				return display.Text(&p.GPU)
			},
		},
		{
			Title: "PID", Field: "pid", Keep: 100, Identity: true, Right: true,
			Text: func(p Process) string { return strconv.Itoa(p.PID) },
		},
		text("TYPE", "type", 30, func(p Process) *string { return p.Type }),
		shortened(text("USER", "owner", 35, func(p Process) *string { return p.Owner }), 8),
		amount("MEMORY", "memory_bytes", 90, func(p Process) *float64 { return p.Memory }, display.GiB),
		amount("SM", "utilization", 85, func(p Process) *float64 { return p.Utilization }, display.Percent),
		amount("MEM", "memory_controller_utilization", 20, func(p Process) *float64 { return p.MemoryControllerUtilization }, display.Percent),
		amount("ENC", "encoder_utilization", 5, func(p Process) *float64 { return p.EncoderUtilization }, display.Percent),
		amount("DEC", "decoder_utilization", 5, func(p Process) *float64 { return p.DecoderUtilization }, display.Percent),
		shortened(text("NAME", "name", 95, func(p Process) *string { return p.Name }), 10),
		{
			Title: "POD", Field: "pod", Keep: 70, Min: 12,
			Text: func(p Process) string { return display.Text(userName(&p.User)) },
		},
	}
}
