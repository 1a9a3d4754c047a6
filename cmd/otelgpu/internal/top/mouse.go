// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"github.com/gdamore/tcell/v3"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
)

// wheelLines is how far one step of the wheel scrolls.
const wheelLines = 3

// mouse obeys a click or the wheel.
func (m *model) mouse(e *tcell.EventMouse) {
	x, y := e.Position()
	switch b := e.Buttons(); {
	case b&tcell.WheelUp != 0:
		m.scrollBy(-wheelLines)
	case b&tcell.WheelDown != 0:
		m.scrollBy(wheelLines)
	case b&tcell.ButtonPrimary == 0:
	case m.help:
		m.help = false
	case y == m.top-1:
		if pane := m.tabAt(x); pane >= 0 {
			m.show(pane)
		}
	case m.gpu == (place{}):
		m.click(m.first + y - m.top - 1) // below the headings
	}
}

// click selects a row, and opens the selected one.
func (m *model) click(row int) {
	switch {
	case row < m.first || row >= min(m.rows(), m.first+m.page):
	case row == m.selected:
		m.enter()
	default:
		m.selected = row
	}
}

// tabAt returns the pane whose tab is in a column of the screen, or -1.
func (m *model) tabAt(x int) int {
	end := 0
	for i, p := range m.tabs()[:2*len(m.panes)] {
		end += display.Width(p.text)
		if x < end {
			return i / 2
		}
	}
	return -1
}
