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

	gpu    place // the GPU of the detail view; empty: the table is shown
	scroll int   // lines of the detail view that are above the screen

	answer   *answer   // the last that was not an error, to the current question
	detail   *answer   // of the detail view
	failure  error     // why the last question has no answer
	failed   time.Time // since when
	live     bool      // the server sends changes
	selected int       // row
	first    int       // row on the screen
	page     int       // rows on the screen, of the last drawing
	top      int       // line of the screen on which the table begins, of the last drawing
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
	return question{pane: m.pane, scope: m.scope, order: m.orders[m.pane], filter: m.filter, gpu: m.gpu}
}

// shown is the answer that is on the screen, or nil.
func (m *model) shown() *answer {
	if m.gpu != (place{}) {
		return m.detail
	}
	return m.answer
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
	m.failure = nil
	if a.detail != nil {
		m.detail = &a
		return
	}
	chosen := m.chosen()
	m.answer = &a
	if chosen == nil {
		m.move(0)
		return
	}
	if i := slices.IndexFunc(a.table.rows, func(r row) bool { return r.key == chosen.key }); i >= 0 {
		m.selected = i
	}
	m.move(0)
}

// rows is the number of rows.
func (m *model) rows() int {
	if m.answer == nil {
		return 0
	}
	return len(m.answer.table.rows)
}

// chosen is the selected row, or nil.
func (m *model) chosen() *row {
	if m.selected < m.rows() {
		return &m.answer.table.rows[m.selected]
	}
	return nil
}

// move moves the selection and keeps it on the screen.
func (m *model) move(delta int) {
	last := max(0, m.rows()-1)
	m.selected = min(last, max(0, m.selected+delta))
	m.first = min(m.first, m.selected)
	m.first = max(m.first, m.selected-m.page+1)
	m.first = min(m.first, max(0, last-m.page+1))
}

// show changes to another pane.
func (m *model) show(pane int) {
	m.pane, m.gpu = (pane+len(m.panes))%len(m.panes), place{}
	m.forget()
}

// visit shows a part of the fleet.
func (m *model) visit(s scope, pane int) {
	m.scope, m.filter = s, ""
	m.show(pane)
}

// forget drops an answer to another question.
func (m *model) forget() { m.answer, m.failure, m.selected, m.first = nil, nil, 0, 0 }

// back leaves the detail view, else clears the filter, else shows more of the fleet.
func (m *model) back() {
	switch {
	case m.gpu != (place{}):
		m.gpu, m.failure = place{}, nil
	case m.filter != "":
		m.filter = ""
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

// enter shows the selected row's GPU, else the GPUs of its node, else the nodes of its cluster.
func (m *model) enter() {
	switch r := m.chosen(); {
	case m.gpu != (place{}) || r == nil:
	case r.gpu != "":
		m.gpu, m.detail, m.failure, m.scroll = place{r.place, r.gpu}, nil, nil, 0
	case r.place.node != "":
		m.enterNode()
	case r.place != (scope{}) && (r.place != m.scope || m.pane != paneNodes):
		m.visit(r.place, paneNodes)
	}
}

// enterNode shows the GPUs of the node of the selected row or of the detail view.
func (m *model) enterNode() {
	to := m.gpu.scope
	if r := m.chosen(); m.gpu == (place{}) && r != nil {
		to = r.place
	}
	if to.node != "" {
		m.visit(to, paneGPUs)
	}
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
