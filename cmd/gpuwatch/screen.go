// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
)

// screen draws the view: in place on a terminal, else as a new table from time to time.
type screen struct {
	out      io.Writer
	options  options
	terminal bool
	last     time.Time
	started  time.Time
	noGPU    bool   // the last that was printed is that no GPU was found
	why      string // the printed reasons
}

// every is the time between tables where the view cannot be drawn in place.
const every = 5 * time.Second

func newScreen(out *os.File, o options) *screen {
	info, err := out.Stat()
	return &screen{out: out, options: o, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0, started: time.Now()}
}

func (s *screen) draw(v *view, now time.Time) {
	if len(v.gpus) == 0 {
		s.drawNothing(v, now)
		return
	}
	s.noGPU = false
	if !s.terminal && now.Sub(s.last) < every {
		return
	}
	s.last = now
	var b strings.Builder
	if s.terminal {
		b.WriteString("\x1b[H\x1b[2J")
	}
	if s.options.simulated {
		b.WriteString("SIMULATED HARDWARE: these GPUs do not exist; the collector reads a simulated libnvidia-ml.so.1\n")
	}
	fmt.Fprintf(&b, "otelcol-gpu  %s  %d GPUs, %d points  Ctrl-C ends\n\n", now.Format("15:04:05"), len(v.gpus), v.points())
	table(&b, v)
	fmt.Fprintf(&b, "\nPrometheus %s   OTLP %s   log %s\n", s.options.endpoint, s.options.otlp, s.options.log)
	_, _ = io.WriteString(s.out, b.String())
}

// drawNothing prints, once for each set of reasons, that there is no GPU and why.
func (s *screen) drawNothing(v *view, now time.Time) {
	if len(v.sent) == 0 && now.Sub(s.started) < 5*time.Second {
		return
	}
	why := strings.Join(reasons(s.options.log), "\n  ")
	if s.noGPU && why == s.why {
		return
	}
	s.noGPU, s.why = true, why
	fmt.Fprintf(s.out, "No GPU found on this machine; looking again. Ctrl-C ends. Log: %s\n", s.options.log)
	if why != "" {
		fmt.Fprintf(s.out, "  %s\n", why)
	}
}

func table(out io.Writer, v *view) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "GPU\tMODEL\tUTIL\tMEMORY\tTEMP\tPOWER\tCLOCK\tPROC\tSTATE")
	for _, g := range v.sorted() {
		name := g.name
		if name == "" {
			name = g.id
		}
		if g.parent != "" {
			name = " └ " + name
		}
		state := g.state
		if g.fault != "" {
			state += " (" + g.fault + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", name, g.model, percent(g.utilization),
			of(g.memoryUsed, g.memoryLimit, 1<<30, "GiB"), amount(g.temperature, 1, "°C"),
			of(g.power, g.powerLimit, 1, "W"), amount(g.clock, 1e6, "MHz"), g.processes, state)
	}
	_ = w.Flush()
}

// absent stands for a value that was not sent.
const absent = "-"

func percent(v *float64) string {
	if v == nil {
		return absent
	}
	filled := min(10, int(*v*10+0.5))
	return strings.Repeat("█", filled) + strings.Repeat("░", 10-filled) + fmt.Sprintf(" %3.0f%%", *v*100)
}

func amount(v *float64, unit float64, name string) string {
	if v == nil {
		return absent
	}
	return fmt.Sprintf("%.0f %s", *v/unit, name)
}

func of(v, limit *float64, unit float64, name string) string {
	if v == nil || limit == nil {
		return amount(v, unit, name)
	}
	return fmt.Sprintf("%.0f/%.0f %s", *v/unit, *limit/unit, name)
}
