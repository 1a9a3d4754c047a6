// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package columns

import (
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// Workload is what a workload holds and uses as a row.
type Workload = *view.Workload

// Workloads are the columns of workloads.
func Workloads() Set[Workload] {
	idle := count("IDLE", "idle", 85, func(w Workload) *int { return w.Idle })
	idle.Level = func(w Workload) Level {
		if w.Idle == nil || *w.Idle == 0 {
			return Faint
		}
		return Warn
	}
	return Set[Workload]{
		identity(optional(text("CLUSTER", "cluster", 55, func(w Workload) *string { return w.Cluster })), 8),
		identity(optional(text("NODE", "node", 10, func(w Workload) *string { return w.Node })), 10),
		identity(optional(text("NAMESPACE", "namespace", 60, func(w Workload) *string { return w.Namespace })), 10),
		identity(text("KIND", "kind", 35, func(w Workload) *string { return w.Kind }), 8),
		identity(text("NAME", "name", 100, func(w Workload) *string { return &w.Name }), 16),
		count("PODS", "pods", 20, func(w Workload) *int { return &w.Pods }),
		count("HELD", "held", 90, func(w Workload) *int { return w.Held }),
		count("USED", "used", 90, func(w Workload) *int { return &w.Used }),
		idle,
		{
			Title: "IDLE SINCE", Field: "idle_since", Keep: 50, Number: true,
			Text: func(w Workload) string {
				if w.IdleSince == nil {
					return display.Absent
				}
				return display.Time(*w.IdleSince)
			},
		},
		amount("IDLE GPU-HOURS", "idle_seconds", 40, func(w Workload) *float64 { return w.IdleTime }, display.Hours),
		amount("MEMORY", "memory_bytes", 70, func(w Workload) *float64 { return w.Memory }, display.GiB),
		amount("POWER", "power_watts", 50, func(w Workload) *float64 { return w.Power }, display.Watts),
		amount("ENERGY", "energy_joules", 15, func(w Workload) *float64 { return w.Energy }, display.KWh),
	}
}
