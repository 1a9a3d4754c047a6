// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
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
	anyCollector   = "No data: no collector sends it, or the GPUs do not support it"
	agent          = "No data: needs an agent with attribution::pod_resources and attribution::processes"
	agentOrExec    = "No data: needs an agent, or kubernetes_exec with attribute_pods"
	clusterReader  = "No data: needs a collector with kubernetes_cluster"
	ownMetrics     = "No data: needs the collectors' own metrics (port 8888 or 9401, or overlays/telemetry-otlp.yaml)"
	pipes          = "No data: needs hw.gpu.pipe.utilization, which is off by default (NVIDIA, Hopper and later)"
	pcieSampling   = "No data: needs a driver with 64-bit counters, or nvml with pcie_sampling"
	gpuLinks       = "No data: needs GPUs with NVLink or XGMI, and a collector that reads their counters"
	eccMemories    = "No data: needs NVIDIA GPUs from Turing on, with ECC on"
	fans           = "No data: needs GPUs with fans"
	margins        = "No data: needs NVIDIA GPUs from Ada and Hopper on, and a collector that reads their margins"
	nothingHappens = "None"
	noneOrNotSent  = "None, or no collector sends it" // of a panel that leaves out zeros
)

// rowNeeds are short names of the data that the heading of a row asks for.
var rowNeeds = map[string]string{
	agent:         "an agent",
	agentOrExec:   "an agent or kubernetes_exec",
	clusterReader: "kubernetes_cluster",
	ownMetrics:    "the collectors' own metrics",
	pipes:         "hw.gpu.pipe.utilization",
	pcieSampling:  "counters of PCIe traffic",
	slurmJobs:     "an agent with attribution::slurm",
	billRules:     "an agent and the recording rules",
	billPrices:    "prices",
}

// panel is one number for each query, lines, or a table.
type panel struct {
	kind                     kind
	title, description, unit string
	empty                    string // what it shows without data
	queries                  []query
	columns                  map[string]string // of a table: names of labels, and of the values "Value #A" …
	links                    map[string]string // of a table: addresses by the name of the column that leads there
	warn, alarm              float64           // of a number: it is orange or red from these values on, or below them if alarm is the smaller one; 0: never
}

type kind int

const (
	stats kind = iota
	lines
	rows
)

// query is a query and the name of each of its lines; in a table the unit of its column.
type query struct{ expression, legend string }

// boardsOf are the dashboards to which the value of a label leads, with the data source and the time range of this one.
var boardsOf = map[string]string{
	"node":    "/d/gpureceiver-node?var-node=${__value.raw}&${datasource:queryparam}&${__url_time_range}",
	"hw_name": "/d/gpureceiver-gpu?var-gpu=${__value.raw}&var-node=${__data.fields.Node}&${datasource:queryparam}&${__url_time_range}",
}

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
	links := map[string]string{}
	for label, column := range columns {
		if link, ok := boardsOf[label]; ok {
			if columns["node"] == "" { // the dashboard shows one node
				link = strings.ReplaceAll(link, "${__data.fields.Node}", "${node}")
			}
			links[column] = link
		}
	}
	return panel{kind: rows, title: title, empty: empty, description: description, columns: columns, queries: queries, links: links}
}

// limits returns the panel with the values from which on its number is orange, and red; 0: never.
func (p panel) limits(warn, alarm float64) panel {
	p.warn, p.alarm = warn, alarm
	return p
}

// alerts returns the table of the alerts that fire for what matchers select. GitHub finds the section of an alert whatever the case of its name.
func alerts(matchers string) panel {
	const labels = "alertname, severity, k8s_cluster_name, node, hw_name, error_type"
	p := list("Firing alerts", nothingHappens, "The shipped alerts, for what is chosen above; at most 200. The name of an alert leads to its runbook.", map[string]string{
		"alertname": "Alert", "severity": "Severity", "k8s_cluster_name": "Cluster", "node": "Node", "hw_name": "GPU", "error_type": "Reason", "Value #A": "Firing",
	}, query{first("max by (" + labels + ") (" + named(series("ALERTS", `alertstate="firing"`, `alertname=~"GPU.+"`, matchers)) + ")"), "short"})
	p.links["Alert"] = "https://github.com/otelgpu/gpureceiver/blob/main/docs/operate/alerts.md#${__value.raw}"
	return p
}

// thresholds returns the colours of a number.
func (p panel) thresholds() cog.Builder[dashboard.ThresholdsConfig] {
	steps := []dashboard.Threshold{{Color: "text"}}
	if 0 < p.alarm && p.alarm < p.warn { // a low number is bad
		steps = []dashboard.Threshold{{Color: "red"}, {Value: new(p.alarm), Color: "orange"}, {Value: new(p.warn), Color: "text"}}
		return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
	}
	if p.warn > 0 {
		steps = append(steps, dashboard.Threshold{Value: new(p.warn), Color: "orange"})
	}
	if p.alarm > 0 {
		steps = append(steps, dashboard.Threshold{Value: new(p.alarm), Color: "red"})
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}

// shares are the highest values of units of shares.
var shares = map[string]float64{"percentunit": 1, "percent": 100}

// build returns the panel with an id that is unique on its dashboard. width is the width of a number.
func (p panel) build(id, width uint32) cog.Builder[dashboard.Panel] {
	switch p.kind {
	case stats:
		builder := stat.NewPanelBuilder().Id(id).Title(p.title).Description(p.text()).Datasource(datasource).Unit(p.unit).NoValue(p.empty).Span(width).Height(4).
			Orientation(common.VizOrientationAuto).GraphMode(common.BigValueGraphModeNone).ColorMode(common.BigValueColorModeValue).Thresholds(p.thresholds()).
			ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
		for i, q := range p.queries {
			builder.WithTarget(q.build(i).Instant())
		}
		return builder
	case lines:
		builder := timeseries.NewPanelBuilder().Id(id).Title(p.title).Description(p.text()).Datasource(datasource).Unit(p.unit).NoValue(p.empty).Span(12).Height(8).AxisSoftMin(0).
			Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending)).
			FillOpacity(5).ShowPoints(common.VisibilityModeNever).
			Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeTable).Placement(common.LegendPlacementRight).Calcs([]string{"lastNotNull", "max"}))
		if highest, ok := shares[p.unit]; ok {
			builder.Max(highest)
		}
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
		for _, column := range slices.Sorted(maps.Keys(p.links)) {
			builder.OverrideByName(column, []dashboard.DynamicConfigValue{{Id: "links", Value: []map[string]string{{"title": "Open", "url": p.links[column]}}}})
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
	for name, title := range p.columns {
		if len(p.queries) == 1 && name == "Value #A" {
			name = "Value"
		}
		names[name] = title
	}
	return names
}

func (q query) build(i int) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Datasource(datasource).RefId(letter(i)).Expr(q.expression)
}
