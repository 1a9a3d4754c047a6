// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/columns"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
)

// place is a GPU of a node.
type place struct {
	scope scope
	gpu   string // hw.id
}

// detail is one GPU, what is wrong with it, and its history.
type detail struct {
	time      time.Time // of the answer
	gpu       *view.GPU
	problems  []*view.Finding
	histories []history
	processes table
}

// history is the recent past of one quantity.
type history struct {
	name, metric string
	text         func(*float64) string
	now          func(*view.GPU) *float64
	limit        func(*view.GPU) *float64 // the end of the scale; nil: the highest value is
	points       []view.HistoryPoint
	err          error // why it is missing
}

func histories() []history {
	whole := func(*view.GPU) *float64 { return new(1.0) }
	return []history{
		{
			name: "UTIL", metric: "hw.gpu.utilization", text: display.Percent, limit: whole,
			now: func(g *view.GPU) *float64 { return g.Utilization.General },
		},
		{
			name: "MEMORY", metric: "hw.gpu.memory.utilization", text: display.Percent, limit: whole,
			now: func(g *view.GPU) *float64 { return g.Memory.Utilization },
		},
		{name: "TEMP", metric: "hw.temperature", text: display.Celsius, limit: temperatureLimit, now: query.CoreTemperature},
		{
			name: "POWER", metric: "hw.power", text: display.Watts,
			limit: func(g *view.GPU) *float64 { return g.Power.Limit }, now: func(g *view.GPU) *float64 { return g.Power.Watts },
		},
		{
			name: "CLOCK", metric: "hw.gpu.speed", text: display.MHz,
			limit: func(g *view.GPU) *float64 { return columns.ComputeClock(g.ClockLimits) },
			now:   func(g *view.GPU) *float64 { return columns.ComputeClock(g.Clocks) },
		},
	}
}

// temperatureLimit is the lowest limit of the chip's sensors. With margins it is missing: they are about the hottest spot, which is hotter than
// the sensors.
func temperatureLimit(g *view.GPU) *float64 {
	var lowest *float64
	for _, t := range g.Temperatures {
		for _, limit := range t.Limits {
			if t.Sensor != "memory" && len(g.Margins) == 0 && (lowest == nil || limit < *lowest) {
				lowest = new(limit)
			}
		}
	}
	return lowest
}

// readDetail reads one GPU. A history that cannot be read is shown as missing.
func readDetail(ctx context.Context, c *client.Client, target place) (*detail, error) {
	scope, id := target.scope.parameters(), url.PathEscape(target.gpu)
	var m view.GPUMetrics
	if err := c.JSON(ctx, client.GPUs+"/"+id, scope, &m); err != nil {
		return nil, err
	}
	if m.GPU == nil {
		return nil, &client.Failure{What: "the answer contains no GPU", Do: "use an otelgpu of the collector's version"}
	}
	d := &detail{time: m.Time, gpu: m.GPU, histories: histories()}
	running := slices.DeleteFunc(m.Processes, func(p *view.Process) bool { return p == nil })
	d.processes = newTable(columns.Processes(), running, len(running), func(p *view.Process) row { return row{key: number(p.PID)} })
	var requests sync.WaitGroup
	for i := range d.histories {
		h := &d.histories[i]
		requests.Go(func() {
			query := target.scope.parameters()
			query.Set("metric", h.metric)
			var answer view.History
			h.err = c.JSON(ctx, client.Devices+"/"+id+"/history", query, &answer)
			h.points = answer.Points
		})
	}
	defer requests.Wait()
	scope.Set("search", target.gpu)
	problems, err := c.List(ctx, client.Problems, scope, maxRows)
	if err != nil {
		return nil, err
	}
	d.problems, err = client.Decode[view.Finding](problems.Items)
	return d, err
}

// details are the lines of the detail view that are on the screen.
func (m *model) details(width, height int) []line {
	d := m.detail.detail
	g := d.gpu
	var lines []line
	add := func(l look, texts ...string) {
		for _, text := range texts {
			lines = append(lines, line{{text: text, look: l}})
		}
	}
	node := g.Node
	if g.Cluster != nil {
		node = *g.Cluster + "/" + g.Node
	}
	lines = append(lines, line{
		{text: columns.GPUName(g) + gap + display.Text(g.Model) + gap + gpu.CleanText(node) + gap, look: look{bold: true}},
		{text: columns.GPUState(g, d.time), look: look{level: columns.GPULevel(g)}},
	})
	for _, p := range d.problems {
		level := columns.Warn
		if p.Severity == view.SeverityError {
			level = columns.Bad
		}
		add(look{level: level}, wrap(gpu.CleanText(fmt.Sprintf("%s: %s %s %s", p.What, p.Detail, p.Consequence, p.Remedy)), width, 3)...)
	}
	rows := min(3, max(1, (height-len(lines)-1)/len(d.histories)))
	for i := range d.histories {
		lines = append(lines, d.histories[i].lines(g, width, rows)...)
	}
	add(look{level: columns.Faint}, d.axis(width))
	for _, fact := range facts(g) {
		for i, text := range wrap(gpu.CleanText(fact[1]), width-factCells, 3) {
			name := ""
			if i == 0 {
				name = fact[0]
			}
			lines = append(lines, line{{text: display.Fit(name, factCells, false), look: look{level: columns.Faint}}, {text: text}})
		}
	}
	if len(d.processes.rows) > 0 {
		lines = append(lines, nil)
		hidden := func(h heading) bool { return h.field == "cluster" || h.field == "node" || h.field == "gpu" }
		lines = append(lines, draw(&d.processes, d.processes.rows, hidden, order{}, width, -1)...)
	}
	m.page = max(1, height)
	m.scroll = max(0, min(m.scroll, len(lines)-max(0, height)))
	return lines[m.scroll:]
}

// The parts of a line of a chart.
const (
	nameCells  = 22
	scaleCells = 16
	factCells  = 14
)

// lines draw a history between its name and its scale.
func (h *history) lines(g *view.GPU, width, rows int) []line {
	name := display.Fit(h.name, 8, false) + h.text(h.now(g))
	var lowest, highest *float64
	for _, p := range h.points {
		if p.Value == nil {
			continue
		}
		low, high := orElse(p.Min, *p.Value), orElse(p.Max, *p.Value)
		if lowest == nil || low < *lowest {
			lowest = new(low)
		}
		if highest == nil || high > *highest {
			highest = new(high)
		}
	}
	if h.err != nil || lowest == nil {
		text := "no history yet"
		if h.err != nil {
			text = "no history: " + gpu.CleanText(h.err.Error())
		}
		return []line{{{text: display.Fit(name, nameCells, false)}, {text: display.Fit(text, max(0, width-nameCells), false), look: look{level: columns.Faint}}}}
	}
	end, scale := h.limit(g), " "
	if end != nil && *end >= *highest {
		scale += h.text(end) + " limit"
	} else {
		end = highest
		scale += h.text(end) + " highest"
	}
	texts := chart(h.points, *end, width-nameCells-scaleCells, rows)
	lines := make([]line, rows)
	for i := range lines {
		left, right := "", ""
		switch i {
		case 0:
			left, right = name, scale
		case 1:
			left = "  " + h.text(lowest) + " to " + h.text(highest)
		}
		if i > 0 && i == rows-1 {
			right = " 0"
		}
		lines[i] = line{{text: display.Fit(left, nameCells, false)}, {text: texts[i]}, {text: display.Fit(right, scaleCells, false), look: look{level: columns.Faint}}}
	}
	return lines
}

// axis says from when to when the charts are, and how they are drawn.
func (d *detail) axis(width int) string {
	for _, h := range d.histories {
		if n := len(h.points); n > 1 {
			clock := func(t time.Time) string { return t.Local().Format("15:04:05") }
			const legend = "█ mean, ░ up to the maximum"
			start, stop := clock(h.points[0].Time), clock(h.points[n-1].Time)
			room := max(0, width-nameCells-scaleCells-len(start)-len(stop))
			text := start + strings.Repeat(" ", room) + stop
			if room > display.Width(legend)+2 {
				left := (room - display.Width(legend)) / 2
				text = start + strings.Repeat(" ", left) + legend + strings.Repeat(" ", room-left-display.Width(legend)) + stop
			}
			return strings.Repeat(" ", nameCells) + text
		}
	}
	return ""
}

// facts are what is known of a GPU beside its history.
func facts(g *view.GPU) [][2]string {
	var all [][2]string
	add := func(name string, parts ...string) {
		if text := strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", "); text != "" {
			all = append(all, [2]string{name, text})
		}
	}
	add("throttled", g.Throttled...)
	if g.RecoveryAction != nil && *g.RecoveryAction != "none" {
		add("driver asks", *g.RecoveryAction)
	}
	add("memory", display.GiBOf(g.Memory.Used, g.Memory.Total))
	for _, t := range g.Temperatures {
		add("temperature", t.Sensor+" "+display.Celsius(t.Celsius)+limits(t.Limits))
	}
	for _, c := range g.Containers {
		if c == nil {
			continue
		}
		idle := ""
		if c.IdleSince != nil {
			idle = "idle since " + display.Time(*c.IdleSince)
		}
		role := "user"
		if c.Allocated != nil && *c.Allocated {
			role = "holder"
		}
		workload := ""
		if c.Workload != nil {
			workload = display.Text(c.Workload)
		}
		add(role, columns.UserName(&c.User), workload, idle)
	}
	add("clocks", numbers(g.Clocks, func(v float64) string { return display.MHz(&v) })...)
	add("errors", numbers(g.Errors, plainNumber)...)
	add("XIDs", numbers(g.XIDs, func(v float64) string { return plainNumber(v) + " times" })...)
	if g.PCIe.Generation != nil && g.PCIe.Width != nil {
		add("PCIe", fmt.Sprintf("generation %d of %s", *g.PCIe.Generation, display.Count(g.PCIe.MaxGeneration)), fmt.Sprintf("x%d of x%s", *g.PCIe.Width, display.Count(g.PCIe.MaxWidth)))
	}
	add("ID", g.ID)
	for _, fact := range []struct {
		name  string
		value *string
	}{{"part of", g.Parent}, {"PCI address", g.PCIAddress}, {"serial number", g.SerialNumber}, {"driver", g.DriverVersion}} {
		if fact.value != nil {
			add(fact.name, *fact.value)
		}
	}
	return all
}

func limits(all map[string]float64) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&text, ", %s %s", name, display.Celsius(new(all[name])))
	}
	return text.String()
}

func numbers(all map[string]float64, text func(float64) string) []string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		texts = append(texts, name+" "+text(all[name]))
	}
	return texts
}

func plainNumber(v float64) string { return fmt.Sprintf("%.0f", v) }
