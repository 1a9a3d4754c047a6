// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// maxCells is how wide a column becomes at most.
const maxCells = 128

// Width is the number of cells that a text takes in a terminal.
func Width(text string) int { return displaywidth.String(text) }

// Fit makes a text exactly this wide: it cuts it with an ellipsis, or fills it with spaces, before it if it is aligned to the right.
func Fit(text string, width int, right bool) string {
	have := Width(text)
	if have > width {
		text = displaywidth.TruncateString(text, width, "…")
		have = Width(text)
	}
	space := strings.Repeat(" ", max(0, width-have))
	if right {
		return space + text
	}
	return text + space
}

// Shorten makes a text at most this wide. It keeps the begin and the end, by which names that have a prefix in common differ.
func Shorten(text string, width int) string {
	switch {
	case Width(text) <= width:
		return text
	case width < 1:
		return ""
	case width < 5:
		return Fit(text, width, false)
	}
	begin := displaywidth.TruncateString(text, width/2, "…")
	room := width - Width(begin)
	for graphemes := displaywidth.StringGraphemes(text); Width(text) > room && graphemes.Next(); {
		text = text[len(graphemes.Value()):]
	}
	return begin + text
}

// Table writes rows below headings, each column as wide as its widest cell.
func Table(headings []string, right []bool, rows [][]string) string {
	widths := Widths(headings, rows)
	var b strings.Builder
	line := func(cells []string) {
		var l strings.Builder
		for i, cell := range cells {
			if i > 0 {
				l.WriteString("  ")
			}
			l.WriteString(Fit(cell, widths[i], right[i]))
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	line(headings)
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

// Widths returns how wide each column is.
func Widths(headings []string, rows [][]string) []int {
	widths := make([]int, len(headings))
	for i, h := range headings {
		widths[i] = Width(h)
	}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], min(Width(cell), maxCells))
		}
	}
	return widths
}
