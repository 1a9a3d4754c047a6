// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package columns

import (
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// Team is what a team holds, uses and leaves idle as a row.
type Team = *view.Team

// Teams are the columns of teams.
func Teams() Set[Team] {
	return Set[Team]{
		optional(text("CLUSTER", "cluster", 55, func(t Team) *string { return t.Cluster })),
		optional(text("NODE", "node", 10, func(t Team) *string { return t.Node })),
		optional(text("KIND", "kind", 35, func(t Team) *string { return t.Kind })),
		text("NAME", "name", 100, func(t Team) *string { return t.Name }),
		count("HELD", "held", 90, func(t Team) *int { return t.Held }),
		count("USED", "used", 90, func(t Team) *int { return &t.Used }),
		count("IDLE", "idle", 85, func(t Team) *int { return t.Idle }),
		amount("GPU-HOURS", "held_seconds", 70, func(t Team) *float64 { return t.HeldTime }, display.Hours),
		amount("IDLE GPU-HOURS", "idle_seconds", 80, func(t Team) *float64 { return t.IdleTime }, display.Hours),
		amount("POWER", "power_watts", 50, func(t Team) *float64 { return t.Power }, display.Watts),
		amount("ENERGY", "energy_joules", 60, func(t Team) *float64 { return t.Energy }, display.KWh),
		{Title: "SINCE", Field: "since", Keep: 40, Number: true, Text: func(t Team) string { return display.Time(t.Since) }},
	}
}
