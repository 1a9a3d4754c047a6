// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/columns"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
)

// paint draws lines.
func paint(s tcell.Screen, lines []line) {
	s.Clear()
	for y, l := range lines {
		x := 0
		for _, p := range l {
			s.PutStrStyled(x, y, p.text, style(p.look, s.Colors() > 0))
			x += display.Width(p.text)
		}
	}
	s.Show()
}

// style uses the terminal's own 16 colours, which its user has chosen. Without colours, as with NO_COLOR, it uses no colour at all: tcell would
// show dark ones, such as the green of what is well, in reverse. What is bad is then in reverse, and in a selected row the other way round.
func style(l look, colours bool) tcell.Style {
	s := tcell.StyleDefault.Bold(l.bold || l.level == columns.Bad || l.level == columns.Warn && !colours).Dim(l.level == columns.Faint)
	if !colours {
		return s.Reverse(l.reverse != (l.level == columns.Bad))
	}
	s = s.Reverse(l.reverse)
	switch l.level {
	case columns.Good:
		s = s.Foreground(color.Green)
	case columns.Warn:
		s = s.Foreground(color.Olive)
	case columns.Bad:
		s = s.Foreground(color.Red)
	case columns.Faint, columns.Normal:
	}
	return s
}
