// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dashboard is what a test needs to know of a dashboard of deploy/grafana.
type dashboard struct {
	UID        string `json:"uid"`
	Panels     []dashboardPanel
	Templating struct {
		List []struct {
			Type, Name, Query, Regex string
			Multi                    bool
			Current                  struct{ Value any }
		}
	}
}

type dashboardPanel struct {
	ID          int
	Title, Type string
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct {
		RefID string `json:"refId"`
		Expr  string
	}
	FieldConfig struct {
		Defaults struct {
			NoValue, Unit string
			Max           float64
			Thresholds    struct{ Steps []struct{ Color string } }
		}
		Overrides []struct {
			Properties []struct {
				ID    string
				Value any
			}
		}
	}
	Transformations []struct {
		Options struct{ RenameByName map[string]string }
	}
	Options struct {
		Legend struct{ Placement string }
	}
}

// billBoard is the dashboard of GPU hours: it needs the recording rules, with which test/rules asks its queries.
const billBoard = "gpureceiver-bill"

// dashboards reads deploy/grafana.
func dashboards(t *testing.T) (all []dashboard) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root(t), "deploy", "grafana", "*.json"))
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var d dashboard
		require.NoError(t, json.Unmarshal(text, &d))
		assert.Equal(t, d.UID+".json", filepath.Base(path))
		all = append(all, d)
	}
	require.Len(t, all, 9)
	return all
}

// selected replaces the variables of a dashboard: variables without a choice have all values. The ranges are for tests.
func selected(expression string, chosen map[string]string) string {
	return regexp.MustCompile(`\$([a-z_]+)`).ReplaceAllStringFunc(expression, func(name string) string {
		name = name[1:]
		switch {
		case chosen[name] != "":
			return chosen[name]
		case name == "__rate_interval", name == "__range":
			return "20s"
		default:
			return ".*"
		}
	})
}

// panelQuery is a query of a panel. where is the dashboard, the panel and, if it has several, the query.
type panelQuery struct{ place, expression, empty string }

// everyQuery returns the queries of all panels.
func everyQuery(t *testing.T) (all []panelQuery) {
	t.Helper()
	known := map[string]bool{}
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				place := d.UID + ": " + p.Title
				if len(p.Targets) > 1 {
					place += ": " + target.RefID
				}
				assert.False(t, known[place], "two panels: %s", place)
				known[place] = true
				all = append(all, panelQuery{place, target.Expr, p.FieldConfig.Defaults.NoValue})
			}
		}
	}
	return all
}

// answered asks Prometheus for a vector, by its labels: name="value", ….
func answered(t *testing.T, address, query string) map[string]float64 {
	t.Helper()
	got := map[string]float64{}
	for _, s := range vector(t, address, query) {
		var labels []string
		for _, name := range slices.Sorted(maps.Keys(s.labels)) {
			labels = append(labels, fmt.Sprintf("%s=%q", name, s.labels[name]))
		}
		got[strings.Join(labels, ", ")] = s.value
	}
	return got
}

// someNumbers waits until a query answers anything.
func someNumbers(t *testing.T, subject string, answer func() map[string]float64) {
	t.Helper()
	eventually(t, patience, subject, func() bool { return len(answer()) > 0 })
}

// sameNumbers waits until a query answers these numbers: a read or a scrape that is late spoils a range for a while.
func sameNumbers(t *testing.T, subject string, want calculation, answer func() map[string]float64) {
	t.Helper()
	got := answer()
	for start := time.Now(); !want.same(got) && time.Since(start) < patience; got = answer() {
		time.Sleep(tick)
	}
	assert.Len(t, got, len(want.values), "%s: %v", subject, got)
	for labels, value := range want.values {
		if assert.Contains(t, got, labels, "%s: %v", subject, got) {
			assert.InDelta(t, value, got[labels], want.slack(value), "%s: %s", subject, labels)
		}
	}
}
