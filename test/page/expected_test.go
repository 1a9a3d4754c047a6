// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// What the page should write for values of the API, by rules of its own: the test does not use the page's code.

const dash = "–"

func percent(v *float64) string {
	if v == nil {
		return dash
	}
	return fmt.Sprintf("%.0f %%", math.Floor(*v*100+0.5))
}

func celsius(v *float64) string {
	if v == nil {
		return dash
	}
	return fmt.Sprintf("%.0f °C", math.Floor(*v+0.5))
}

func watts(v *float64) string {
	switch {
	case v == nil:
		return dash
	case *v >= 1e6:
		return digits(*v/1e6) + " MW"
	case *v >= 1e3:
		return digits(*v/1e3) + " kW"
	}
	return fmt.Sprintf("%.0f W", math.Floor(*v+0.5))
}

// digits writes three of them.
func digits(v float64) string {
	switch {
	case v >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// grouped writes a count with a comma before each three digits.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func or(v *string, otherwise string) string {
	if v == nil {
		return otherwise
	}
	return *v
}

// place is a node with its cluster.
func place(cluster *string, node string) string {
	if cluster == nil {
		return node
	}
	return *cluster + "/" + node
}

var words = map[string]string{"ok": "ok", "failed": "failed", "degraded": "degraded", "predicted_failure": "failure predicted", "": "unknown"}

// tileName is how a screen reader names a tile: of a GPU that no namespace has, and the partitions into which it is divided.
func tileName(g *view.GPU, parts []*view.GPU) string {
	known := func(v *float64) string {
		if v == nil {
			return "unknown"
		}
		return percent(v)
	}
	utilization, sum, read := g.Utilization.General, 0.0, 0.0
	slowed := g.Slowed()
	for _, p := range parts {
		slowed = slowed || p.Slowed()
		if p.Utilization.General != nil {
			sum, read = sum+*p.Utilization.General, read+1
			utilization = new(sum / read)
		}
	}
	name := fmt.Sprintf("%s GPU %d, %s, %s, utilization %s, memory %s", place(g.Cluster, g.Node), *g.Index, *g.Model, stateWord(g), known(utilization), known(g.Memory.Utilization))
	if len(parts) > 0 {
		name += fmt.Sprintf(", %d partitions", len(parts))
	}
	if slowed && !g.Stale && or(g.Status, "") == "ok" {
		name += ", throttled"
	}
	return name
}

// stateWord is how the page calls the state of a GPU.
func stateWord(g *view.GPU) string {
	word := words[or(g.Status, "")]
	switch {
	case g.Stale && word == "ok":
		return "stale"
	case g.Stale:
		return "stale, last " + word
	}
	return word
}

// clock is a time of day, with the date if it is another day than today.
func clock(t *time.Time) string {
	switch {
	case t == nil:
		return dash
	case t.Local().Format(time.DateOnly) == time.Now().Format(time.DateOnly):
		return t.Local().Format(time.TimeOnly)
	}
	return t.Local().Format(time.DateTime)
}

// since is when a problem began, and how long it has been there.
func since(f *view.Finding) string {
	switch {
	case f.Begin == nil:
		return dash
	case !f.BeginKnown:
		return "before " + clock(f.Begin)
	}
	return clock(f.Begin) + "\n" + duration(*f.Age)
}

func duration(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.0f s", seconds)
	}
	return fmt.Sprintf("%.0f min", math.Floor(seconds/60))
}

func workloads(f *view.Finding) string {
	if len(f.Workloads) == 0 {
		return dash
	}
	return strings.Join(f.Workloads, ", ")
}
