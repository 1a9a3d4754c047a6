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
			s.PutStrStyled(x, y, p.text, style(p.look))
			x += display.Width(p.text)
		}
	}
	s.Show()
}

// style uses the terminal's own 16 colours, which its user has chosen. tcell leaves colours out if NO_COLOR is set.
func style(l look) tcell.Style {
	s := tcell.StyleDefault.Bold(l.bold).Reverse(l.reverse)
	switch l.level {
	case columns.Good:
		s = s.Foreground(color.Green)
	case columns.Warn:
		s = s.Foreground(color.Olive)
	case columns.Bad:
		s = s.Foreground(color.Red).Bold(true)
	case columns.Faint:
		s = s.Dim(true)
	case columns.Normal:
	}
	return s
}
