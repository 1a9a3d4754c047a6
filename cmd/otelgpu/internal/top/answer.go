// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"strconv"
	"time"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/columns"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// question is what the screen needs.
type question struct {
	pane   int
	scope  scope
	order  order
	filter string
	gpu    place // of the detail view; empty: a table is shown
}

// answer is what the server said to it.
type answer struct {
	question   question
	answerTime time.Time
	err        error // why the answer is missing

	summary   *view.Summary
	table     table
	processes *table   // of the machine whose GPUs the table shows
	detail    *detail  // instead of the table
	reasons   []string // sources that cannot read
}

// oneMachine reports whether all rows are of one machine.
func (a *answer) oneMachine() bool {
	return a.question.scope.node != "" || a.summary != nil && a.summary.Nodes == 1
}

// foundNone reports whether there is no GPU, although no source says that it cannot read.
func (a *answer) foundNone() bool {
	return (a.summary == nil || a.summary.GPUs == 0) && len(a.reasons) == 0
}

// ask reads what a question needs.
func ask(ctx context.Context, c *client.Client, panes []pane, q question, now func() time.Time) answer {
	a := answer{question: q}
	var info view.Info
	a.summary, a.err = summary(ctx, c, q.scope)
	switch {
	case a.err != nil:
	case q.gpu != (place{}):
		a.detail, a.err = readDetail(ctx, c, q.gpu)
	default:
		a.table, a.err = panes[q.pane].load(ctx, c, q.scope, q.order, q.filter)
		if a.err == nil && q.pane == paneGPUs && a.oneMachine() {
			var processes table
			p := &panes[paneProcesses]
			processes, a.err = p.load(ctx, c, q.scope, p.order, q.filter)
			a.processes = &processes
		}
	}
	if a.err == nil && c.JSON(ctx, client.Info, q.scope.parameters(), &info) == nil { // the rest is shown without it too
		a.reasons = failing(&info)
	}
	a.answerTime = now()
	return a
}

// summary reads the sums of a scope.
func summary(ctx context.Context, c *client.Client, s scope) (*view.Summary, error) {
	entries, err := c.List(ctx, client.Summary, s.parameters(), 1)
	if err != nil {
		return nil, err
	}
	sums, err := client.Decode[view.Summary](entries.Items)
	if err != nil || len(sums) == 0 {
		return nil, err
	}
	return sums[0], nil
}

// maxReasons is how many sources are named.
const maxReasons = 3

// failing names the sources that cannot read, with their nodes.
func failing(info *view.Info) []string {
	var all []string
	for _, s := range info.Sources {
		if s.Readable && len(s.Reasons) == 0 {
			continue
		}
		text := columns.SourceText(&s.Source)
		if s.Node != nil {
			text += " (" + display.Text(s.Node) + ")"
		} else if s.Cluster != nil {
			text += " (" + display.Text(s.Cluster) + ")"
		}
		all = append(all, text)
	}
	if more := len(all) - maxReasons; more > 0 {
		all = append(all[:maxReasons], number(more)+" more; otelgpu get nodes lists them")
	}
	return all
}

func number(n int) string { return strconv.Itoa(n) }
