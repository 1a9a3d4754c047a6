// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Verdict is what is said of a row.
type Verdict string

// The verdicts.
const (
	Same     Verdict = "same"      // equal, or the tool's value is between ours, within the tolerance
	Differs  Verdict = "differs"   // it is not
	OnlyOurs Verdict = "only ours" // the tool does not have it
	OnlyTool Verdict = "only tool" // we do not have it
)

// Row is one quantity of one device. A value is a float64, a bool or a string; nil: it was not read.
type Row struct {
	Device    string  `json:"device"` // hw.id
	Quantity  string  `json:"quantity"`
	Unit      string  `json:"unit,omitempty"`
	Before    any     `json:"before"` // ours, before the tool was run
	Tool      any     `json:"tool"`
	After     any     `json:"after"` // ours, after it
	Tolerance float64 `json:"tolerance,omitempty"`
	Verdict   Verdict `json:"verdict"`
}

// Values are what is compared of a node, by device and quantity. They outlive the node.
type Values map[string]map[string]value

// value is one value, with how it is compared.
type value struct {
	order     int // among the quantities
	unit      string
	tolerance tolerance
	value     any
}

// Of returns the values of a node that was read.
func Of(node *gpu.Node) Values {
	all := Values{}
	for i := range node.Devices {
		d := &node.Devices[i]
		values := map[string]value{}
		if !d.Unread {
			addProperties(values, d)
			addQuantities(values, d)
			addProcesses(values, d, node.Processes)
		}
		all[d.ID] = values
	}
	return all
}

// Nodes compares what a tool has with what our source had before and after it. There is a row for each value that any of them has.
func Nodes(before, tool, after Values) []Row {
	devices := map[string]bool{}
	for _, values := range []Values{before, tool, after} {
		for id := range values {
			devices[id] = true
		}
	}
	var rows []Row
	for _, id := range slices.Sorted(maps.Keys(devices)) {
		rows = append(rows, device(id, before[id], tool[id], after[id])...)
	}
	return rows
}

func device(id string, before, tool, after map[string]value) []Row {
	known := map[string]value{}
	for _, values := range []map[string]value{before, tool, after} {
		maps.Copy(known, values)
	}
	names := slices.SortedFunc(maps.Keys(known), func(a, b string) int {
		return cmp.Or(known[a].order-known[b].order, strings.Compare(a, b))
	})
	rows := make([]Row, 0, len(names))
	for _, name := range names {
		row := Row{
			Device: id, Quantity: name, Unit: known[name].unit, Before: before[name].value, Tool: tool[name].value, After: after[name].value,
		}
		row.Verdict, row.Tolerance = judge(known[name].tolerance, &row)
		rows = append(rows, row)
	}
	return rows
}

// judge compares the values of a row, and returns the tolerance that applies to them.
func judge(allowed tolerance, row *Row) (Verdict, float64) {
	switch {
	case row.Tool == nil:
		return OnlyOurs, 0
	case row.Before == nil && row.After == nil:
		return OnlyTool, 0
	}
	theirs, number := row.Tool.(float64)
	if !number {
		if row.Tool == row.Before || row.Tool == row.After {
			return Same, 0
		}
		return Differs, 0
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, ours := range []any{row.Before, row.After} {
		if v, ok := ours.(float64); ok {
			low, high = min(low, v), max(high, v)
		}
	}
	within := allowed.allowance(max(math.Abs(low), math.Abs(high)))
	if theirs < low-within || theirs > high+within {
		return Differs, within
	}
	return Same, within
}

// Count returns how many rows have a verdict.
func Count(rows []Row, verdict Verdict) int {
	n := 0
	for i := range rows {
		if rows[i].Verdict == verdict {
			n++
		}
	}
	return n
}
