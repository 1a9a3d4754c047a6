// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// sql is a query to PostgreSQL.
type sql struct{ query, format string }

func (s sql) Build() (variants.Dataquery, error) {
	return variants.UnknownDataquery{
		"refId": "A", "datasource": map[string]any{"type": postgres, "uid": "${datasource}"}, "editorMode": "code", "format": s.format, "rawQuery": true, "rawSql": s.query,
	}, nil
}

const postgres = "grafana-postgresql-datasource"

// ledger is the dashboard of the ledger's tables in PostgreSQL. Times of the range are times of the hours and the events.
func ledger() (dashboard.Dashboard, error) {
	source := common.DataSourceRef{Type: new(postgres), Uid: new("${datasource}")}
	builder := dashboard.NewDashboardBuilder("GPU ledger").Uid("gpureceiver-ledger").Tags([]string{tag}).
		Description("GPU hours and energy by namespace, account of Slurm and workload, the life of a workload, and events, from the ledger in PostgreSQL.").
		Time("now-30d", "now").Timezone(common.TimeZoneBrowser).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("PostgreSQL").Type(postgres)).
		WithVariable(dashboard.NewTextBoxVariableBuilder("workload").Label("Workload").Description("Name of a workload: its pods and events"))
	const (
		sums = `, SUM(held_time) / 3600 AS "Held", SUM(busy_time) / 3600 AS "Used", SUM(idle_time) / 3600 AS "Idle", SUM(unknown_use_time) / 3600 AS "Use not known", ` +
			`SUM(energy) / 3.6e6 AS "Energy" FROM allocations WHERE $__timeFilter(hour_time) AND held_time > 0`
		pods = `SELECT r.k8s_pod_uid FROM gpu_workloads w JOIN workload_pod_references r ON r.k8s_workload_uid = w.k8s_workload_uid WHERE w.k8s_workload_name = ${workload:sqlstring}`
	)
	hours := func(title, labels, names, condition string) cog.Builder[dashboard.Panel] {
		panel := rowsOf(title, "GPU hours and kWh of the time range; at most 200.", source,
			"SELECT "+names+sums+condition+" GROUP BY "+labels+` ORDER BY "Held" DESC LIMIT 200`)
		for _, column := range []string{"Held", "Used", "Idle", "Use not known"} {
			panel.OverrideByName(column, []dashboard.DynamicConfigValue{{Id: "unit", Value: "h"}})
		}
		return panel.OverrideByName("Energy", []dashboard.DynamicConfigValue{{Id: "unit", Value: "kwatth"}})
	}
	for _, panel := range []cog.Builder[dashboard.Panel]{
		timeseries.NewPanelBuilder().Title("Held by namespace").Description("GPUs that were held, by hour.").Datasource(source).Unit("short").NoValue(noneInRange).Span(24).Height(8).AxisSoftMin(0).
			WithTarget(sql{`SELECT hour_time AS time, COALESCE(k8s_namespace_name, '') AS metric, SUM(held_time) / 3600 AS value FROM allocations WHERE $__timeFilter(hour_time) AND held_time > 0 GROUP BY 1, 2 ORDER BY 1`, "time_series"}),
		hours("Namespaces", "k8s_cluster_name, k8s_namespace_name", `k8s_cluster_name AS "Cluster", k8s_namespace_name AS "Namespace"`, ""),
		hours("Accounts of Slurm", "slurm_job_account", `slurm_job_account AS "Account"`, " AND slurm_job_account IS NOT NULL"),
		hours("Workloads", "k8s_cluster_name, k8s_namespace_name, k8s_workload_kind, k8s_workload_name",
			`k8s_cluster_name AS "Cluster", k8s_namespace_name AS "Namespace", k8s_workload_kind AS "Kind", k8s_workload_name AS "Workload"`, " AND k8s_workload_name IS NOT NULL"),
		rowsOf("Pods of the workload", "The life of each pod of the workload that is named above; at most 200.", source,
			`SELECT k8s_namespace_name AS "Namespace", k8s_pod_name AS "Pod", k8s_node_name AS "Node", k8s_resource_requests AS "Requests", created_time AS "Created", scheduled_time AS "Scheduled", running_time AS "Running", `+
				`finished_time AS "Finished", exit_code AS "Exit code", terminated_reason AS "Reason" FROM gpu_pods WHERE k8s_pod_uid IN (`+pods+`) ORDER BY created_time DESC LIMIT 200`),
		rowsOf("Events of the workload", "Events of its pods in the time range; at most 200.", source,
			`SELECT event_time AS "Time", event_name AS "Event", k8s_pod_name AS "Pod", body AS "Text" FROM gpu_pods_events WHERE $__timeFilter(event_time) AND k8s_pod_uid IN (`+pods+`) ORDER BY event_time DESC LIMIT 200`),
		rowsOf("Events of GPUs", "XIDs, states and resets in the time range; at most 200.", source,
			`SELECT event_time AS "Time", event_name AS "Event", COALESCE(k8s_node_name, host_name) AS "Node", hw_id AS "GPU", hw_gpu_xid AS "XID", body AS "Text" FROM gpu_events WHERE $__timeFilter(event_time) ORDER BY event_time DESC LIMIT 200`),
	} {
		builder.WithPanel(panel)
	}
	built, err := builder.Build()
	for i := range built.Panels {
		built.Panels[i].Panel.Id = new(uint32(i) + 1)
	}
	return built, err
}

const noneInRange = "None in the time range"

func rowsOf(title, description string, source common.DataSourceRef, query string) *table.PanelBuilder {
	return table.NewPanelBuilder().Title(title).Description(description).Datasource(source).NoValue(noneInRange).Span(24).Height(8).WithTarget(sql{query, "table"})
}
