// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package columns

import (
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// Summary is the sum over a fleet or a group as a row.
type Summary = *view.Summary

// Summaries are the columns of sums, by cluster, node, namespace, workload or model; empty: of everything.
func Summaries(grouping string) Set[Summary] {
	failed := count("FAILED", "failed", 85, func(s Summary) *int { return &s.Failed })
	failed.Level = func(s Summary) Level { return some(s.Failed, Bad) }
	throttled := count("THROTTLED", "throttled", 38, func(s Summary) *int { return &s.Throttled })
	throttled.Level = func(s Summary) Level { return some(s.Throttled, Warn) }
	degraded := count("DEGRADED", "degraded", 42, func(s Summary) *int { return &s.Degraded })
	degraded.Level = func(s Summary) Level { return some(s.Degraded, Warn) }
	predicted := count("PREDICTED", "predicted_failure", 41, func(s Summary) *int { return &s.PredictedFailure })
	predicted.Level = func(s Summary) Level { return some(s.PredictedFailure, Warn) }
	stale := count("STALE", "stale", 40, func(s Summary) *int { return &s.Stale })
	stale.Level = func(s Summary) Level { return some(s.Stale, Warn) }
	unreadable := count("UNREADABLE", "unreadable_nodes", 35, func(s Summary) *int { return &s.UnreadableNodes })
	unreadable.Level = func(s Summary) Level { return some(s.UnreadableNodes, Bad) }
	set := Set[Summary]{
		identity(optional(text("CLUSTER", "cluster", 80, func(s Summary) *string { return s.Cluster })), 8),
		identity(optional(text("NAMESPACE", "namespace", 20, func(s Summary) *string { return s.Namespace })), 10),
		identity(text(strings.ToUpper(grouping), "group", 100, func(s Summary) *string { return s.Group }), 16),
		count("NODES", "nodes", 30, func(s Summary) *int { return &s.Nodes }),
		unreadable,
		count("GPUS", "gpus", 90, func(s Summary) *int { return &s.GPUs }),
		count("OK", "healthy", 50, func(s Summary) *int { return &s.Healthy }),
		throttled,
		degraded,
		predicted,
		failed,
		count("UNKNOWN", "unknown", 10, func(s Summary) *int { return &s.Unknown }),
		stale,
		{
			Title: "UTIL", Field: "utilization", Keep: 75, Number: true,
			Text:  func(s Summary) string { return display.Bar(s.Utilization, 10) },
			Level: func(s Summary) Level { return busy(s.Utilization) },
		},
		{
			Title: "MEMORY", Field: "memory_used_bytes", Keep: 70, Right: true, Number: true,
			Text: func(s Summary) string { return display.GiBOf(s.Memory.Used, s.Memory.Total) },
		},
		amount("TEMP", "temperature_celsius", 25, func(s Summary) *float64 { return s.Temperature }, display.Celsius),
		{
			Title: "POWER", Field: "power_watts", Keep: 45, Right: true, Number: true,
			Text: func(s Summary) string { return display.WattsOf(s.Power, s.PowerLimit) },
		},
		count("PROC", "processes", 15, func(s Summary) *int { return s.Processes }),
	}
	return slices.DeleteFunc(set, func(c Column[Summary]) bool {
		switch c.Field {
		case "group":
			return grouping == ""
		case "cluster":
			return grouping == "cluster" // the group has it
		case "namespace":
			return grouping != "workload"
		case "nodes":
			return grouping == "node"
		case "unreadable_nodes":
			return grouping != "" && grouping != "cluster" && grouping != "node"
		default:
			return false
		}
	})
}

// some is the level of a number that should be 0.
func some(n int, level Level) Level {
	if n == 0 {
		return Faint
	}
	return level
}
