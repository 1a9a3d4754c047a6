// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// tag is on each dashboard; the links between them find each other by it.
const tag = "gpureceiver"

// board is a dashboard.
type board struct {
	uid, title, description string
	variables               []variable
	rows                    []row
}

// row is a heading and the panels below it.
type row struct {
	title  string
	panels []panel
}

// numbersWidth is the width of a number: up to six fill a line of 24 columns.
func (r row) numbersWidth() uint32 {
	numbers := uint32(0)
	for _, p := range r.panels {
		if p.kind == stats {
			numbers++
		}
	}
	return 24 / min(max(numbers, 1), 6)
}

// heading is the title of the row and the data that its panels need, if not every collector sends them.
func (r row) heading() string {
	var needs []string
	all := true
	for _, p := range r.panels {
		need, ok := rowNeeds[p.empty]
		all = all && ok
		if ok && !slices.Contains(needs, need) {
			needs = append(needs, need)
		}
	}
	switch {
	case len(needs) == 0:
		return r.title
	case all && len(needs) == 1:
		return r.title + " (needs " + needs[0] + ")"
	default:
		return r.title + " (some panels need: " + strings.Join(needs, "; ") + ")"
	}
}

// variable is a choice at the top of a dashboard.
type variable struct {
	name, label, query string
	regex              string // which part of the answer is the value; empty: all
	single             bool   // one value at a time
	firstOnly          bool   // the first value is chosen at the start, not all of them
}

// The variables that dashboards share. The name of a node is k8s_node_name, and the name of a machine outside of Kubernetes is host_name.
var (
	clusterVariable = variable{name: "cluster", label: "Cluster", query: "label_values(hw_gpu_count, k8s_cluster_name)"}
	nodeVariable    = variable{
		name: "node", label: "Node",
		query: "query_result(" + named(`group by (k8s_node_name, host_name) (hw_gpu_count{k8s_cluster_name=~"$cluster"})`) + ")",
		regex: `/[{ ,]node="([^"]+)"/`,
	}
	modelVariable     = variable{name: "model", label: "Model", query: "label_values(hw_gpu_info{" + onNode + "}, hw_model)"}
	gpuVariable       = variable{name: "gpu", label: "GPU", query: "label_values(hw_gpu_info{" + onNode + `, hw_model=~"$model"` + "}, hw_name)", firstOnly: true}
	namespaceVariable = variable{name: "namespace", label: "Namespace", query: `label_values({__name__=~"container_gpu_memory_usage_bytes|k8s_container_gpu_request", k8s_cluster_name=~"$cluster"}, k8s_namespace_name)`}
)

// datasource is the Prometheus that is chosen at the top.
var datasource = common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}

func (b board) build() (dashboard.Dashboard, error) {
	builder := dashboard.NewDashboardBuilder(b.title).Uid(b.uid).Description(b.description).Tags([]string{tag}).
		Refresh("30s").Time("now-3h", "now").Timezone(common.TimeZoneBrowser).Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Link(dashboard.NewDashboardLinkBuilder("GPUs").Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{tag}).AsDropdown(true).IncludeVars(true).KeepTime(true)).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Prometheus").Type("prometheus"))
	for _, v := range b.variables {
		builder.WithVariable(v.build())
	}
	id := uint32(0)
	for _, r := range b.rows {
		id++
		builder.WithRow(dashboard.NewRowBuilder(r.heading()).Id(id))
		for _, p := range r.panels {
			id++
			builder.WithPanel(p.build(id, r.numbersWidth()))
		}
	}
	return builder.Build()
}

func (v variable) build() cog.Builder[dashboard.VariableModel] {
	builder := dashboard.NewQueryVariableBuilder(v.name).Label(v.label).Datasource(datasource).
		Query(dashboard.StringOrMap{String: &v.query}).Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc)
	if v.regex != "" {
		builder.Regex(v.regex)
	}
	if !v.single {
		builder.Multi(true).IncludeAll(true).AllValue(".*")
	}
	if !v.single && !v.firstOnly {
		builder.Current(dashboard.VariableOption{
			Selected: new(true), Text: dashboard.StringOrArrayOfString{String: new("All")}, Value: dashboard.StringOrArrayOfString{String: new("$__all")},
		})
	}
	return builder
}
