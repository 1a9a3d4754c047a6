// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The panels of a dashboard lie within its 24 columns, and none is on another. Each number has a unit, each share its maximum, and a legend beside
// a graph leaves it half of the width.
func TestDashboardLayout(t *testing.T) {
	t.Parallel()
	for _, d := range dashboards(t) {
		taken, ids := map[[2]int]string{}, map[int]bool{}
		for _, p := range d.Panels {
			place := d.UID + ": " + p.Title
			assert.False(t, ids[p.ID], "%s: the number of another panel", place)
			ids[p.ID] = true
			assert.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, place)
			for x := range p.GridPos.W {
				for y := range p.GridPos.H {
					at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
					assert.Empty(t, taken[at], "%s is on another panel at %v", place, at)
					taken[at] = place
				}
			}
			defaults := p.FieldConfig.Defaults
			switch p.Type {
			case "row":
			case "table":
				units := 0
				for _, o := range p.FieldConfig.Overrides {
					for _, property := range o.Properties {
						if property.ID == "unit" {
							units++
						}
					}
				}
				assert.Equal(t, len(p.Targets), units, "%s: units of its columns", place)
			default:
				assert.NotEmpty(t, defaults.Unit, place)
				if p.Type == "timeseries" && strings.HasPrefix(defaults.Unit, "percent") {
					assert.NotZero(t, defaults.Max, "%s: the maximum", place)
				}
				if p.Options.Legend.Placement == "right" {
					assert.GreaterOrEqual(t, p.GridPos.W, 12, place)
				}
			}
		}
	}
}

// A panel that draws each device has at most 20 lines for a query, unless the dashboard shows one node at a time: a node has 16 GPUs, a fleet thousands.
func TestDashboardsOfLargeFleets(t *testing.T) {
	t.Parallel()
	bounded := 0
	for _, d := range dashboards(t) {
		ofNode := false
		for _, v := range d.Templating.List {
			ofNode = ofNode || v.Name == "node" && !v.Multi
		}
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				if p.Type == "timeseries" && !ofNode && strings.HasPrefix(strings.TrimLeft(target.Expr, "(0123456789* "), "max by (k8s_cluster_name, node, hw_name, hw_id") {
					assert.Fail(t, "a line for each device", "%s: %s", d.UID, p.Title)
				}
				if strings.HasPrefix(target.Expr, "topk(") || strings.HasPrefix(target.Expr, "bottomk(") {
					bounded++
				}
			}
		}
	}
	assert.Greater(t, bounded, 15)
}

// Numbers of what is wrong are coloured, and the dashboards that one opens first begin with the alerts.
func TestDashboardsShowWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			if p.Type == "stat" && (p.Title == "Failed" || p.Title == "Missing" || p.Title == "Degraded") {
				assert.Greater(t, len(p.FieldConfig.Defaults.Thresholds.Steps), 1, "%s: %s", d.UID, p.Title)
			}
		}
		switch d.UID {
		case "gpureceiver-fleet", "gpureceiver-node", "gpureceiver-health":
			assert.Equal(t, "Firing alerts", d.Panels[1].Title, d.UID)
		}
	}
}
