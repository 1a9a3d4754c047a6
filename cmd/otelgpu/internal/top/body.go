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

// body is the table: headings, rows, and what is not shown. The processes of one machine are below its GPUs.
func (m *model) body(width, height int) []line {
	t := &m.answer.table
	notes := m.notes()
	room := max(1, height-1-len(notes))
	processes := m.processes(room, width)
	m.page = max(1, room-len(processes))
	m.move(0)
	shown := t.rows[min(m.first, len(t.rows)):min(len(t.rows), m.first+m.page)]
	lines := draw(t, shown, m.hidden, m.orders[m.pane], width, m.selected-m.first)
	return append(append(lines, notes...), processes...)
}

// processes are one machine's processes, below its GPUs: at least a third of the rows if there are so many.
func (m *model) processes(room, width int) []line {
	t := m.answer.processes
	if t == nil || len(t.rows) == 0 {
		return nil
	}
	const around = 2 // lines beside the rows
	n := min(len(t.rows), max(room-len(m.answer.table.rows), room/3)-around)
	if n < 1 {
		return nil
	}
	title := "processes"
	if t.total > n {
		title = fmt.Sprintf("the first %d of %d processes; 2 shows all", n, t.total)
	}
	return append([]line{{{text: title, look: look{level: columns.Faint}}}}, draw(t, t.rows[:n], m.hidden, order{}, width, -1)...)
}

// draw returns the headings and rows of a table.
func draw(t *table, rows []row, hidden func(heading) bool, o order, width, selected int) []line {
	shown, widths := fit(t, hidden, width)
	var heading line
	for i, c := range shown {
		h := t.columns[c]
		title := h.title
		if h.field != "" && h.field == o.field {
			title = mark(o.descending) + title
		}
		heading = append(heading, piece{text: display.Fit(title, widths[i], h.right) + gap, look: look{bold: true}})
	}
	lines := []line{heading}
	for i := range rows {
		var l line
		for j, c := range shown {
			cell := rows[i].cells[c]
			text := cell.text
			if t.columns[c].identity {
				text = display.Shorten(text, widths[j])
			}
			l = append(l, piece{
				text: display.Fit(text, widths[j], t.columns[c].right) + gap,
				look: look{level: cell.level, reverse: i == selected},
			})
		}
		lines = append(lines, l)
	}
	return lines
}

func mark(descending bool) string {
	if descending {
		return "▼"
	}
	return "▲"
}

// hidden reports whether a column says the same in all rows: the cluster or the node that is shown.
func (m *model) hidden(h heading) bool {
	switch h.field {
	case "cluster":
		return m.scope.cluster != ""
	case "node":
		return m.answer.oneMachine()
	default:
		return false
	}
}

// noGPUFound says that the sources can be read and find no GPU.
const noGPUFound = "no GPU was found; otelgpu doctor on the machine says what is missing"

// notes say which rows are not shown.
func (m *model) notes() []line {
	t := &m.answer.table
	var notes []line
	add := func(text string) { notes = append(notes, line{{text: text, look: look{level: columns.Faint}}}) }
	switch {
	case len(t.rows) == 0 && m.answer.foundNone():
		add(noGPUFound)
	case len(t.rows) == 0:
		add("nothing to show")
	case t.total > len(t.rows):
		add(fmt.Sprintf("the first %d of %d; sort, filter, or choose a node or a cluster, to see others", len(t.rows), t.total))
	}
	if t.note != "" {
		add(t.note)
	}
	return notes
}

// fit chooses the columns that a width has room for, and returns their numbers and widths. Columns that can be shortened share what is left,
// the ones that identify a row first, and the last column takes the rest.
func fit(t *table, hidden func(heading) bool, width int) (shown, widths []int) {
	natural, least := make([]int, len(t.columns)), make([]int, len(t.columns))
	for i, h := range t.columns {
		if hidden(h) {
			continue
		}
		title := display.Width(h.title) + 1 // the mark of the order
		natural[i] = title
		for _, r := range t.rows {
			natural[i] = max(natural[i], min(maxCells, display.Width(r.cells[i].text)))
		}
		least[i] = natural[i]
		if h.least > 0 {
			least[i] = min(natural[i], max(h.least, title))
		}
		shown = append(shown, i)
	}
	total := func() int {
		sum := 0
		for _, c := range shown {
			sum += least[c] + len(gap)
		}
		return sum
	}
	for len(shown) > 1 && total() > width {
		drop := slices.MinFunc(shown, func(a, b int) int { return t.columns[a].keep - t.columns[b].keep })
		shown = slices.DeleteFunc(shown, func(c int) bool { return c == drop })
	}
	left := width - total()
	for _, identity := range []bool{true, false} {
		for grown := true; grown; {
			grown = false
			for _, c := range shown {
				if left > 0 && least[c] < natural[c] && t.columns[c].identity == identity {
					least[c]++
					left--
					grown = true
				}
			}
		}
	}
	for _, c := range shown {
		widths = append(widths, least[c])
	}
	if n := len(widths); n > 0 && !t.columns[shown[n-1]].right {
		widths[n-1] += max(0, left)
	}
	return shown, widths
}
