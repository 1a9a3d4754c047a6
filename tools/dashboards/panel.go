// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// What a panel needs that not every collector sends. The panel says so when it is empty.
const (
	anyCollector   = "No data: no collector sends it, or the GPUs do not have it"
	agent          = "No data: needs an agent with attribution::pod_resources and attribution::processes"
	agentOrExec    = "No data: needs an agent, or kubernetes_exec with attribute_pods"
	clusterReader  = "No data: needs a collector with kubernetes_cluster"
	ownMetrics     = "No data: needs the collectors' own metrics (port 8888 or 9401, or parts/telemetry-otlp.yaml)"
	pcieSampling   = "No data: needs a driver with 64-bit counters, or nvml with pcie_sampling"
	nothingHappens = "None"
)

// panel is one number for each query, lines, or a table.
type panel struct {
	kind                     kind
	title, description, unit string
	empty                    string // what it shows without data
	queries                  []query
	columns                  map[string]string // of a table: names of labels, and of the values "Value #A" …
}

type kind int

const (
	stats kind = iota
	lines
	rows
)

// query is a query and the name of each of its lines; in a table the unit of its column.
type query struct{ expression, legend string }

// number returns a panel of one number.
func number(title, unit, empty, description, expression string) panel {
	return panel{kind: stats, title: title, unit: unit, empty: empty, description: description, queries: []query{{expression, ""}}}
}

// graph returns a panel of lines over time.
func graph(title, unit, empty, description string, queries ...query) panel {
	return panel{kind: lines, title: title, unit: unit, empty: empty, description: description, queries: queries}
}

// list returns a table: the columns by label, and a column for each query.
func list(title, empty, description string, columns map[string]string, queries ...query) panel {
	return panel{kind: rows, title: title, empty: empty, description: description, columns: columns, queries: queries}
}

// build returns the panel with an id that is unique on its dashboard.
func (p panel) build(id uint32) cog.Builder[dashboard.Panel] {
	switch p.kind {
	case stats:
		builder := stat.NewPanelBuilder().Id(id).Title(p.title).Description(p.text()).Datasource(datasource).Unit(p.unit).NoValue(p.empty).Span(4).Height(4).
			Orientation(common.VizOrientationAuto).GraphMode(common.BigValueGraphModeNone).ColorMode(common.BigValueColorModeNone).
			ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
		for i, q := range p.queries {
			builder.WithTarget(q.build(i).Instant())
		}
		return builder
	case lines:
		builder := timeseries.NewPanelBuilder().Id(id).Title(p.title).Description(p.text()).Datasource(datasource).Unit(p.unit).NoValue(p.empty).Span(12).Height(8).Min(0).
			Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending)).
			FillOpacity(5).ShowPoints(common.VisibilityModeNever).
			Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeTable).Placement(common.LegendPlacementRight).Calcs([]string{"lastNotNull", "max"}))
		for i, q := range p.queries {
			builder.WithTarget(q.build(i).Range().LegendFormat(q.legend))
		}
		return builder
	default:
		builder := table.NewPanelBuilder().Id(id).Title(p.title).Description(p.text()).Datasource(datasource).NoValue(p.empty).Span(24).Height(8).
			WithTransformation(dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}}).
			WithTransformation(dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{
				"excludeByName": map[string]any{"Time": true}, "indexByName": map[string]any{}, "renameByName": p.names(),
			}})
		for i, q := range p.queries {
			builder.WithTarget(q.build(i).Instant().Format(prometheus.PromQueryFormatTable))
			if q.legend != "" { // the unit of the column
				builder.OverrideByName(p.column(i), []dashboard.DynamicConfigValue{{Id: "unit", Value: q.legend}})
			}
		}
		return builder
	}
}

// text is the description, with what the panel needs.
func (p panel) text() string {
	if needs, ok := strings.CutPrefix(p.empty, "No data: needs"); ok {
		return p.description + " Needs" + needs + "."
	}
	return p.description
}

// letter is the name of a query in its panel.
func letter(i int) string { return string(rune('A' + i)) }

// column is the name of the column of a query.
func (p panel) column(i int) string { return p.columns["Value #"+letter(i)] }

func (p panel) names() map[string]any {
	names := map[string]any{}
	for from, to := range p.columns {
		if len(p.queries) == 1 && from == "Value #A" {
			from = "Value"
		}
		names[from] = to
	}
	return names
}

func (q query) build(i int) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Datasource(datasource).RefId(letter(i)).Expr(q.expression)
}
