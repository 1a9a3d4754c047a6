// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"slices"
	"time"
)

// model is what is on the screen and what the keys have chosen.
type model struct {
	options Options
	panes   []pane

	pane   int
	scope  scope
	orders []order // of each pane
	filter string

	editing bool // the filter is being typed
	help    bool
	paused  bool

	answer   *answer   // the last that was not an error, to the current question
	failure  error     // why the last question has no answer
	failed   time.Time // since when
	live     bool      // the server sends changes
	selected int       // of the rows that match the filter
	first    int       // row on the screen
	page     int       // rows on the screen, of the last drawing
}

func newModel(o Options) *model {
	m := &model{options: o, panes: panes(), scope: scope{o.Cluster, o.Node}, page: 1}
	for _, p := range m.panes {
		m.orders = append(m.orders, p.order)
	}
	return m
}

// question is the question that the screen needs.
func (m *model) question() question {
	return question{pane: m.pane, scope: m.scope, order: m.orders[m.pane]}
}

// take keeps an answer if it is to the current question.
func (m *model) take(a answer) {
	if a.question != m.question() || m.paused {
		return
	}
	if a.err != nil {
		if m.failure == nil {
			m.failed = a.answerTime
		}
		m.failure = a.err
		return
	}
	chosen := m.chosen()
	m.failure, m.answer = nil, &a
	if chosen == nil {
		m.move(0)
		return
	}
	if i := slices.IndexFunc(m.rows(), func(r *row) bool { return r.key == chosen.key }); i >= 0 {
		m.selected = i
	}
	m.move(0)
}

// rows are those that match the filter.
func (m *model) rows() []*row {
	if m.answer == nil {
		return nil
	}
	var rows []*row
	for i := range m.answer.table.rows {
		if r := &m.answer.table.rows[i]; m.filter == "" || r.contains(m.filter) {
			rows = append(rows, r)
		}
	}
	return rows
}

// chosen is the selected row, or nil.
func (m *model) chosen() *row {
	if rows := m.rows(); m.selected < len(rows) {
		return rows[m.selected]
	}
	return nil
}

// move moves the selection and keeps it on the screen.
func (m *model) move(delta int) {
	last := max(0, len(m.rows())-1)
	m.selected = min(last, max(0, m.selected+delta))
	m.first = min(m.first, m.selected)
	m.first = max(m.first, m.selected-m.page+1)
	m.first = min(m.first, max(0, last-m.page+1))
}

// show changes to another pane.
func (m *model) show(pane int) {
	m.pane = (pane + len(m.panes)) % len(m.panes)
	m.forget()
}

// visit shows a part of the fleet.
func (m *model) visit(s scope, pane int) {
	m.scope, m.filter = s, ""
	m.show(pane)
}

// forget drops an answer to another question.
func (m *model) forget() { m.answer, m.failure, m.selected, m.first = nil, nil, 0, 0 }

// back clears the filter, else shows more of the fleet.
func (m *model) back() {
	switch {
	case m.filter != "":
		m.filter = ""
		m.move(0)
	case m.scope.node != "":
		m.scope.node = ""
		if m.scope.cluster == "-" {
			m.scope.cluster = ""
		}
		m.forget()
	case m.scope.cluster != "":
		m.scope.cluster = ""
		m.forget()
	}
}

// enter visits the selected row's node or cluster.
func (m *model) enter() {
	r := m.chosen()
	if r == nil || r.place == (scope{}) || r.place == m.scope {
		return
	}
	if r.place.node == "" {
		m.visit(r.place, m.paneOf("Nodes"))
		return
	}
	m.visit(r.place, m.paneOf("GPUs"))
}

func (m *model) paneOf(name string) int {
	return slices.IndexFunc(m.panes, func(p pane) bool { return p.name == name })
}

// sortBy moves the order to the next column that the server can sort by, or to its own order. Numbers start with the largest.
func (m *model) sortBy(step int) {
	fields := []order{{}}
	now := 0
	for _, h := range m.panes[m.pane].columns {
		if h.field == "" {
			continue
		}
		if h.field == m.orders[m.pane].field {
			now = len(fields)
		}
		fields = append(fields, order{field: h.field, descending: h.number})
	}
	m.orders[m.pane] = fields[(now+step+len(fields))%len(fields)]
}

func (m *model) reverse() {
	if o := &m.orders[m.pane]; o.field != "" {
		o.descending = !o.descending
	}
}
