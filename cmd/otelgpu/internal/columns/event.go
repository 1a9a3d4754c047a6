// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package columns

import (
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// Event is an event as a row.
type Event = *view.Event

// Events are the columns of events.
func Events() Set[Event] {
	return Set[Event]{
		{
			Title: "TIME", Field: "time", Keep: 100, Identity: true, Number: true,
			Text: func(e Event) string { return display.Time(e.Time) },
		},
		{
			Title: "SEVERITY", Field: "severity", Keep: 50,
			Text: func(e Event) string { return display.Text(&e.Severity) }, Level: severity,
		},
		identity(text("EVENT", "name", 95, func(e Event) *string { return &e.Name }), 12),
		identity(optional(text("CLUSTER", "cluster", 20, func(e Event) *string { return e.Cluster })), 7),
		identity(text("NODE", "node", 80, func(e Event) *string { return e.Node }), 8),
		identity(text("GPU", "gpu", 60, func(e Event) *string { return e.GPU }), 8),
		shortened(text("MESSAGE", "body", 90, func(e Event) *string { return e.Body }), 12),
	}
}

func severity(e Event) Level {
	switch e.Severity {
	case "ERROR", "FATAL":
		return Bad
	case "WARN":
		return Warn
	default:
		return Normal
	}
}
