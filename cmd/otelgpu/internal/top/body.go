// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"slices"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/columns"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
)

const (
	// maxCells is how wide a column is at most, beside the last one.
	maxCells = 44
	gap      = "  "
)

// body is the table: headings, rows, and what is not shown.
func (m *model) body(width, height int) []line {
	t, rows := &m.answer.table, m.rows()
	notes := m.notes(len(rows))
	m.page = max(1, height-1-len(notes))
	m.move(0)
	shown, widths := fit(t, m.hidden, width)
	order := m.orders[m.pane]
	var heading line
	for i, c := range shown {
		h := t.columns[c]
		title := h.title
		if h.field != "" && h.field == order.field {
			title = mark(order.descending) + title
		}
		heading = append(heading, piece{text: display.Fit(title, widths[i], h.right) + gap, look: look{bold: true}})
	}
	lines := []line{heading}
	for i := m.first; i < min(len(rows), m.first+m.page); i++ {
		var l line
		for j, c := range shown {
			cell := rows[i].cells[c]
			l = append(l, piece{
				text: display.Fit(cell.text, widths[j], t.columns[c].right) + gap,
				look: look{level: cell.level, reverse: i == m.selected},
			})
		}
		lines = append(lines, l)
	}
	return append(lines, notes...)
}

func mark(descending bool) string {
	if descending {
		return "▼"
	}
	return "▲"
}

// hidden reports whether a column says the same in all rows: the cluster or the node that is shown.
func (m *model) hidden(h heading) bool {
	switch s := m.answer.summary; h.field {
	case "cluster":
		return m.scope.cluster != ""
	case "node":
		return m.scope.node != "" || s != nil && s.Nodes == 1
	default:
		return false
	}
}

// noGPUFound says that the sources can be read and find no GPU.
const noGPUFound = "no GPU was found; otelgpu doctor on the machine says what is missing"

// notes say which rows are not shown.
func (m *model) notes(shown int) []line {
	t := &m.answer.table
	var notes []line
	add := func(text string) { notes = append(notes, line{{text: text, look: look{level: columns.Faint}}}) }
	switch {
	case len(t.rows) == 0 && m.answer.foundNone():
		add(noGPUFound)
	case len(t.rows) == 0:
		add("nothing to show")
	case t.total > len(t.rows):
		add(fmt.Sprintf("the first %d of %d; sort, or choose a node or a cluster, to see others", len(t.rows), t.total))
	}
	if m.filter != "" {
		add(fmt.Sprintf("%d of %d rows match", shown, len(t.rows)))
	}
	if t.note != "" {
		add(t.note)
	}
	return notes
}

// fit chooses the columns that a width has room for, and returns their numbers and widths. The last takes what is left.
func fit(t *table, hidden func(heading) bool, width int) (shown, widths []int) {
	natural := make([]int, len(t.columns))
	for i, h := range t.columns {
		if hidden(h) {
			continue
		}
		natural[i] = display.Width(h.title) + 1 // the mark of the order
		for _, r := range t.rows {
			natural[i] = max(natural[i], min(maxCells, display.Width(r.cells[i].text)))
		}
		shown = append(shown, i)
	}
	total := func() int {
		sum := 0
		for _, c := range shown {
			sum += natural[c] + len(gap)
		}
		return sum
	}
	for len(shown) > 1 && total() > width {
		least := slices.MinFunc(shown, func(a, b int) int { return t.columns[a].keep - t.columns[b].keep })
		shown = slices.DeleteFunc(shown, func(c int) bool { return c == least })
	}
	for _, c := range shown {
		widths = append(widths, natural[c])
	}
	if n := len(widths); n > 0 && !t.columns[shown[n-1]].right {
		widths[n-1] += max(0, width-total())
	}
	return shown, widths
}
