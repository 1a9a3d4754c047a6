// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package columns

import (
	"strings"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// Node is a node as a row.
type Node = *view.Node

// Nodes are the columns of nodes.
func Nodes() Set[Node] {
	return Set[Node]{
		identity(optional(text("CLUSTER", "cluster", 70, func(n Node) *string { return n.Cluster })), 8),
		identity(text("NODE", "name", 100, func(n Node) *string { return &n.Name }), 14),
		{
			Title: "STATE", Field: "state", Keep: 90, Level: nodeLevel,
			Text: func(n Node) string { return display.Text(new(string(n.State))) },
		},
		{
			Title: "READABLE", Field: "readable", Keep: 85, Level: nodeLevel,
			Text: readable,
		},
		count("GPUS", "gpu_count", 95, func(n Node) *int { return n.GPUCount }),
		count("MISSING", "missing", 60, func(n Node) *int { return n.Missing }),
		count("UNMANAGED", "unmanaged", 10, func(n Node) *int { return n.Unmanaged }),
		{
			Title: "MEMORY", Field: "memory_used_bytes", Keep: 50, Right: true, Number: true,
			Text: func(n Node) string { return display.GiBOf(n.Memory.Used, n.Memory.Total) },
		},
		text("DRIVER", "drivers", 30, drivers),
		{
			Title: "LAST SEEN", Field: "last_seen", Keep: 20, Number: true,
			Text: func(n Node) string { return display.Time(n.LastSeen) },
		},
	}
}

func nodeLevel(n Node) Level {
	switch {
	case n.Readable != nil && !*n.Readable:
		return Bad
	case n.State != view.Live:
		return Warn
	default:
		return Normal
	}
}

// readable says which source cannot read what.
func readable(n Node) string {
	if n.Readable == nil {
		return display.Absent
	}
	var failing []string
	for _, s := range n.Sources {
		if !s.Readable || len(s.Reasons) > 0 {
			failing = append(failing, SourceText(&s))
		}
	}
	text := "yes"
	if !*n.Readable {
		text = "no"
	}
	if len(failing) > 0 {
		text += " (" + strings.Join(failing, "; ") + ")"
	}
	return text
}

// SourceText names a source and what it cannot read.
func SourceText(s *view.Source) string {
	text := display.Text(&s.Name)
	if len(s.Reasons) > 0 {
		text += ": " + display.Texts(s.Reasons)
	}
	return text
}

func drivers(n Node) *string {
	var versions []string
	for _, d := range n.Drivers {
		versions = append(versions, d.Vendor+" "+d.Version)
	}
	if len(versions) == 0 {
		return nil
	}
	return new(strings.Join(versions, ", "))
}
