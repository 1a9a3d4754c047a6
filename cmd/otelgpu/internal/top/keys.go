// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"math"
	"unicode/utf8"

	"github.com/gdamore/tcell/v3"
)

// maxFilter is the longest filter in bytes.
const maxFilter = 100

// help is what ? shows.
var help = [][2]string{
	{"1-8, Tab", "GPUs, Processes, Pods, Workloads, Nodes, Clusters, Problems, Events"},
	{"↑ ↓ j k", "select a row; PgUp, PgDn, Home and End jump"},
	{"Enter", "show the selected GPU with its history, or the GPUs of a node, or the nodes of a cluster"},
	{"n", "show the GPUs of the selected row's node"},
	{"Esc", "leave a GPU, clear the filter, then show more: cluster, whole fleet"},
	{"← → s", "sort by the column before or after; r reverses"},
	{"/", "show only what contains a text; the server searches all; Enter confirms"},
	{"mouse", "click a row or a tab, click again to open it; the wheel scrolls; Shift selects text"},
	{"Space", "pause the display"},
	{"? h", "this help"},
	{"q Ctrl-C", "quit"},
}

// key obeys a key. It reports whether the program goes on.
func (m *model) key(e *tcell.EventKey) bool {
	switch {
	case e.Key() == tcell.KeyCtrlC:
		return false
	case m.editing:
		m.edit(e)
		return true
	case m.help:
		m.help = false
		return e.Str() != "q"
	}
	switch e.Key() {
	case tcell.KeyUp:
		m.scrollBy(-1)
	case tcell.KeyDown:
		m.scrollBy(1)
	case tcell.KeyPgUp:
		m.scrollBy(-m.page)
	case tcell.KeyPgDn:
		m.scrollBy(m.page)
	case tcell.KeyHome:
		m.scrollBy(-math.MaxInt32)
	case tcell.KeyEnd:
		m.scrollBy(math.MaxInt32)
	case tcell.KeyTab:
		m.show(m.pane + 1)
	case tcell.KeyBacktab:
		m.show(m.pane - 1)
	case tcell.KeyLeft:
		m.sortBy(-1)
	case tcell.KeyRight:
		m.sortBy(1)
	case tcell.KeyEnter:
		m.enter()
	case tcell.KeyEsc, tcell.KeyBackspace:
		m.back()
	case tcell.KeyRune:
		return m.letter(e.Str())
	}
	return true
}

func (m *model) letter(s string) bool {
	switch s {
	case "q":
		return false
	case "j":
		m.scrollBy(1)
	case "k":
		m.scrollBy(-1)
	case "n":
		m.enterNode()
	case "s":
		m.sortBy(1)
	case "r":
		m.reverse()
	case "/":
		m.editing = m.gpu == (place{})
	case " ":
		m.paused = !m.paused
	case "?", "h":
		m.help = true
	default:
		if len(s) == 1 && s[0] >= '1' && int(s[0]-'1') < len(m.panes) {
			m.show(int(s[0] - '1'))
		}
	}
	return true
}

// edit types the filter.
func (m *model) edit(e *tcell.EventKey) {
	switch e.Key() {
	case tcell.KeyEnter:
		m.editing = false
	case tcell.KeyEsc:
		m.editing, m.filter = false, ""
	case tcell.KeyBackspace:
		_, size := utf8.DecodeLastRuneInString(m.filter)
		m.filter = m.filter[:len(m.filter)-size]
	case tcell.KeyRune:
		if len(m.filter)+len(e.Str()) <= maxFilter {
			m.filter += e.Str()
		}
	}
}

// scrollBy moves the selection, or the detail view.
func (m *model) scrollBy(lines int) {
	if m.gpu != (place{}) {
		m.scroll = max(0, m.scroll+lines) // drawing keeps it above the end
		return
	}
	m.move(lines)
}
