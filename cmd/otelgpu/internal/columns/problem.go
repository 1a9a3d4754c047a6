// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package columns

import (
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// Problem is something that is wrong as a row.
type Problem = *view.Finding

// Problems are the columns of problems.
func Problems() Set[Problem] {
	return Set[Problem]{
		{
			Title: "SEVERITY", Field: "severity", Keep: 90, Text: func(p Problem) string { return display.Text(new(string(p.Severity))) },
			Level: func(p Problem) Level {
				return map[view.Severity]Level{view.SeverityError: Bad, view.SeverityWarning: Warn}[p.Severity]
			},
		},
		identity(optional(text("CLUSTER", "cluster", 60, func(p Problem) *string { return p.Cluster })), 8),
		identity(text("NODE", "node", 80, func(p Problem) *string { return p.Node }), 10),
		identity(text("GPU", "gpu", 70, func(p Problem) *string { return p.GPU }), 8),
		identity(text("PROBLEM", "what", 100, func(p Problem) *string { return &p.What }), 16),
		{
			Title: "AGE", Field: "age_seconds", Keep: 50, Right: true, Number: true,
			Text: func(p Problem) string {
				if p.Age != nil && !p.BeginKnown {
					return "> " + display.Seconds(p.Age)
				}
				return display.Seconds(p.Age)
			},
		},
		{Title: "WORKLOADS", Field: "workloads", Keep: 40, Text: func(p Problem) string { return display.Texts(p.Workloads) }},
		shortened(text("WHY", "detail", 85, func(p Problem) *string { return &p.Detail }), 12),
	}
}
