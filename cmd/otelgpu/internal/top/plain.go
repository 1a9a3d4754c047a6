// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Print writes the table of GPUs once, without colours.
func Print(ctx context.Context, c *client.Client, out io.Writer, o Options) error {
	m := newModel(o)
	m.answer = new(ask(ctx, c, m.panes, m.question(), time.Now))
	if m.answer.err != nil {
		return m.answer.err
	}
	return m.print(out)
}

// print writes what the screen would show.
func (m *model) print(out io.Writer) error {
	var b strings.Builder
	if m.options.Notice != "" {
		b.WriteString(m.options.Notice + "\n")
	}
	a := m.answer
	fmt.Fprintf(&b, "%s  %s\n%s\n", gpu.CleanText(m.options.Server), a.answerTime.Local().Format("15:04:05"), strings.Join(sums(a.summary), gap+" "))
	for _, reason := range a.reasons {
		b.WriteString("cannot be read: " + reason + "\n")
	}
	var (
		titles []string
		rights []bool
		rows   = make([][]string, len(a.table.rows))
	)
	for i, h := range a.table.columns {
		if m.hidden(h) {
			continue
		}
		titles, rights = append(titles, h.title), append(rights, h.right)
		for j, r := range a.table.rows {
			rows[j] = append(rows[j], r.cells[i].text)
		}
	}
	b.WriteString("\n" + display.Table(titles, rights, rows))
	if a.foundNone() {
		b.WriteString(noGPUFound + "\n")
	}
	if more := a.table.total - len(rows); more > 0 {
		fmt.Fprintf(&b, "%d more; otelgpu get gpus --all prints all\n", more)
	}
	if m.options.Places != "" {
		b.WriteString("\n" + m.options.Places + "\n")
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

// every is the time between tables if the output is not a terminal.
const every = 5 * time.Second

// Repeat writes the table from time to time until the context ends. If there is no GPU it says so, and why, once for each set of reasons.
func Repeat(ctx context.Context, c *client.Client, out io.Writer, o Options) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	m := newModel(o)
	begun := time.Now()
	var (
		printed time.Time
		said    string
	)
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-o.Ended:
			return err
		case <-tick.C:
		}
		if time.Since(printed) < every {
			continue
		}
		a := ask(ctx, c, m.panes, m.question(), time.Now)
		m.failure, m.answer = a.err, &a
		var text string
		switch {
		case ctx.Err() != nil:
			return nil
		case a.err == nil && a.summary != nil && a.summary.GPUs > 0:
			if err := m.print(out); err != nil {
				return err
			}
			printed, said = time.Now(), ""
			continue
		case time.Since(begun) < every: // the collector may not have read yet
			continue
		case a.err == nil || refused(a.err):
			text = "No GPU found on this machine; trying again. Press Ctrl-C to quit.\n"
			if o.Why != nil {
				text += indented(o.Why())
			}
		default:
			text = gpu.CleanText(a.err.Error()) + "\n"
		}
		if text == said {
			continue
		}
		said = text
		if _, err := io.WriteString(out, text); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
}

func indented(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("  " + gpu.CleanText(l) + "\n")
	}
	return b.String()
}
