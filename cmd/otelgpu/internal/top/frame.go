// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/columns"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// look is how a piece of a line is drawn.
type look struct {
	level   columns.Level
	bold    bool
	reverse bool
}

// piece is a part of a line with one look.
type piece struct {
	text string
	look look
}

// line is a line of the screen.
type line []piece

func plain(text string) line { return line{{text: text}} }

// frame returns the lines of the screen.
func (m *model) frame(width, height int, now time.Time) []line {
	lines := m.head(width, now)
	m.top = len(lines)
	foot := m.foot()
	room := height - len(lines) - 1 // without the foot
	switch {
	case m.help:
		lines = append(lines, helpLines()...)
	case m.shown() == nil && m.failure == nil:
		lines = append(lines, plain("Waiting for "+gpu.CleanText(m.options.Server)+" …"))
	case m.shown() == nil:
	case m.shown().detail != nil:
		lines = append(lines, m.details(width, room)...)
	default:
		lines = append(lines, m.body(width, room)...)
	}
	if len(lines) > height-1 {
		lines = lines[:max(0, height-1)]
	}
	for len(lines) < height-1 {
		lines = append(lines, nil)
	}
	return append(lines, foot)
}

// head is the part above the table.
func (m *model) head(width int, now time.Time) []line {
	var lines []line
	add := func(level columns.Level, bold bool, text string, most int) {
		for _, text := range wrap(text, width, most) {
			lines = append(lines, line{{text: text, look: look{level: level, bold: bold}}})
		}
	}
	if m.options.Notice != "" {
		add(columns.Warn, true, m.options.Notice, 2)
	}
	lines = append(lines, m.title())
	if m.failure != nil {
		add(columns.Bad, true, m.why(now), 4)
	}
	if a := m.shown(); a != nil {
		for _, text := range join(sums(a.summary), width) {
			lines = append(lines, plain(text))
		}
		for _, reason := range a.reasons {
			add(columns.Warn, false, "cannot be read: "+reason, 2)
		}
	}
	if m.noGPU() && m.options.Why != nil {
		for _, reason := range m.options.Why() {
			add(columns.Warn, false, gpu.CleanText(reason), 3)
		}
	}
	if m.options.Places != "" {
		add(columns.Normal, false, m.options.Places, 2)
	}
	return append(lines, m.tabs())
}

// noGPU reports whether the server answers and shows no GPU.
func (m *model) noGPU() bool {
	if m.failure != nil {
		return refused(m.failure)
	}
	a := m.shown()
	return a != nil && (a.summary == nil || a.summary.GPUs == 0)
}

func (m *model) title() line {
	state := look{level: columns.Good}
	text := "live"
	switch {
	case refused(m.failure):
		text, state.level = "error", columns.Bad
	case m.failure != nil:
		text, state.level = "no answer", columns.Bad
	case m.paused:
		text, state.level = "paused", columns.Warn
	case m.shown() == nil:
		text, state.level = "asking", columns.Faint
	case !m.live:
		text, state.level = "polling", columns.Normal
	}
	title := line{{text: "otelgpu top", look: look{bold: true}}, {text: "  " + gpu.CleanText(m.options.Server) + "  "}, {text: text, look: state}}
	if a := m.shown(); a != nil {
		title = append(title, piece{text: "  " + a.answerTime.Local().Format("15:04:05")})
	}
	return append(title, piece{text: "  " + m.scope.String(), look: look{bold: true}})
}

// String names a part of a fleet.
func (s scope) String() string {
	var parts []string
	switch s.cluster {
	case "":
	case "-":
		parts = append(parts, "outside clusters")
	default:
		parts = append(parts, "cluster "+gpu.CleanText(s.cluster))
	}
	if s.node != "" {
		parts = append(parts, "node "+gpu.CleanText(s.node))
	}
	return strings.Join(parts, ", ")
}

// why says since when the answer is missing, and why.
func (m *model) why(now time.Time) string {
	text := gpu.CleanText(m.failure.Error())
	if refused(m.failure) {
		return text
	}
	return fmt.Sprintf("no answer for %s, trying again: %s", display.Ago(now.Sub(m.failed)), text)
}

// refused reports whether the server answered with an error.
func refused(err error) bool {
	var failure *client.Failure
	return errors.As(err, &failure) && failure.Status != 0
}

// sums are the sums of the fleet or its part.
func sums(s *view.Summary) []string {
	if s == nil {
		return nil
	}
	parts := []string{fmt.Sprintf("%d GPUs: %d ok", s.GPUs, s.Healthy)}
	for _, part := range []struct {
		n    int
		name string
	}{{s.Throttled, "throttled"}, {s.Degraded, "degraded"}, {s.PredictedFailure, "about to fail"}, {s.Failed, "failed"}, {s.Unknown, "unknown"}, {s.Stale, "stale"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.name))
		}
	}
	nodes := strconv.Itoa(s.Nodes)
	if s.StaleNodes > 0 {
		nodes = fmt.Sprintf("%d of %d", s.Nodes-s.StaleNodes, s.Nodes)
	}
	if s.UnreadableNodes > 0 {
		nodes += fmt.Sprintf(" (%d unreadable)", s.UnreadableNodes)
	}
	return []string{
		strings.Join(parts, ", "), "nodes " + nodes, "util " + display.Percent(s.Utilization), "memory " + display.GiBOf(s.Memory.Used, s.Memory.Total),
		"power " + display.WattsOf(s.Power, s.PowerLimit), "temp " + display.Celsius(s.Temperature),
	}
}

// join writes parts into as few lines as a width allows.
func join(parts []string, width int) []string {
	var lines []string
	for i, part := range parts {
		const between = "   "
		if last := len(lines) - 1; i > 0 && display.Width(lines[last]+between+part) <= width {
			lines[last] += between + part
		} else {
			lines = append(lines, part)
		}
	}
	return lines
}

// tabs are the panes. The line fits into 80 cells.
func (m *model) tabs() line {
	var tabs line
	for i, p := range m.panes {
		tabs = append(tabs, piece{text: fmt.Sprintf("%d %s", i+1, p.name), look: look{reverse: i == m.pane, bold: i == m.pane}}, piece{text: " "})
	}
	if o := m.orders[m.pane]; o.field != "" { // its column may be one that the window has no room for
		tabs = append(tabs, piece{text: " by " + mark(o.descending) + o.field, look: look{level: columns.Faint}})
	}
	return tabs
}

// foot is the filter that is being typed, or what the keys do.
func (m *model) foot() line {
	switch {
	case m.editing:
		return line{{text: "/" + gpu.CleanText(m.filter) + "_", look: look{bold: true}}}
	case m.filter != "":
		return line{{text: "only with " + gpu.CleanText(m.filter), look: look{level: columns.Warn}}, {text: "  Esc clears  ? help  q quit"}}
	default:
		return plain("? help  / filter  ← → sort  r reverse  Enter open  Esc back  Space pause  q quit")
	}
}

func helpLines() []line {
	lines := []line{nil}
	for _, h := range help {
		lines = append(lines, line{{text: "  " + display.Fit(h[0], 10, false), look: look{bold: true}}, {text: "  " + h[1]}})
	}
	return lines
}

// wrap breaks a text into at most so many lines.
func wrap(text string, width, most int) []string {
	var lines []string
	now := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case now == "":
			now = word
		case display.Width(now)+1+display.Width(word) <= width:
			now += " " + word
		default:
			lines, now = append(lines, now), word
		}
	}
	lines = append(lines, now)
	return lines[:min(most, len(lines))]
}
