// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	"fmt"
	"slices"
	"strings"
)

// rule says which value a column has after a row came whose key exists. The result of first, least, greatest and latest does not depend on
// the order in which the rows come.
type rule int

const (
	key      rule = iota // part of the primary key
	first                // the value that is there, otherwise the new one; for what never changes
	latest               // the value of the row with the highest updated_time, by uid if the times are the same
	least                // the lower one
	greatest             // the higher one
	add                  // the sum; of a missing value and a value it is the value
	newest               // the new value; rows come in order
)

// table is how rows are written to a table of the database.
type table struct {
	name    string
	columns []column
}

type column struct {
	name string
	rule rule
}

// row has the values of a row by column. A missing value is NULL.
type row struct {
	table  *table
	values map[string]any
}

// arguments returns the values in the order of the table's columns.
func (r row) arguments() []any {
	values := make([]any, len(r.table.columns))
	for i, c := range r.table.columns {
		values[i] = r.values[c.name]
	}
	return values
}

// key identifies the row in its table.
func (r row) key() string {
	var b strings.Builder
	for _, c := range r.table.columns {
		if c.rule == key {
			fmt.Fprintf(&b, "%v\x00", r.values[c.name])
		}
	}
	return b.String()
}

// columnsOf returns columns of one rule; names are separated by spaces.
func columnsOf(r rule, names string) []column {
	var columns []column
	for name := range strings.FieldsSeq(names) {
		columns = append(columns, column{name, r})
	}
	return columns
}

// versionColumns order the rows of one key. They are last because MySQL computes the columns one after the other from what is already set.
var versionColumns = []column{{"uid", latest}, {"updated_time", greatest}}

// The tables whose rows come from log records. A table of events has a row for each record, which never changes.
var (
	gpuEvents = &table{"gpu_events", slices.Concat(columnsOf(key, "uid"), columnsOf(first,
		"event_time event_name severity_number body hw_id hw_parent hw_model k8s_cluster_name k8s_node_name host_name hw_state hw_gpu_xid "+
			"hw_gpu_recommended_action k8s_namespace_name k8s_pod_name k8s_pod_uid attributes"))}
	gpuPodsEvents = &table{"gpu_pods_events", slices.Concat(columnsOf(key, "uid"), columnsOf(first,
		"event_time event_name severity_number body k8s_pod_uid k8s_namespace_name k8s_pod_name k8s_node_name k8s_pod_status_phase "+
			"k8s_pod_status_reason k8s_pod_condition_type k8s_pod_condition_status k8s_pod_condition_reason k8s_container_name restart_count "+
			"exit_code terminated_reason"))}
	podSnapshots = &table{"pod_snapshots", slices.Concat(columnsOf(key, "uid"), columnsOf(first,
		"event_time k8s_pod_uid k8s_namespace_name k8s_pod_name snapshot"))}
	gpuPods = &table{"gpu_pods", slices.Concat(columnsOf(key, "k8s_pod_uid"),
		columnsOf(first, "k8s_cluster_name k8s_namespace_name k8s_pod_name k8s_node_name"),
		columnsOf(latest, "k8s_workload_uid k8s_workload_kind k8s_workload_name k8s_pod_status_phase k8s_resource_requests labels"),
		columnsOf(greatest, "restart_count"), columnsOf(first, "exit_code terminated_reason"),
		columnsOf(least, "created_time scheduled_time running_time finished_time deleted_time"), versionColumns)}
	gpuWorkloads = &table{"gpu_workloads", slices.Concat(columnsOf(key, "k8s_workload_uid"),
		columnsOf(first, "k8s_cluster_name k8s_namespace_name k8s_workload_kind k8s_workload_name k8s_workload_api_version"),
		columnsOf(latest, "k8s_workload_owners k8s_resource_requests labels pod_count ended_time"), columnsOf(greatest, "pod_count_peak"),
		columnsOf(least, "started_time"), versionColumns)}
	workloadPods = &table{"workload_pod_references", slices.Concat(columnsOf(key, "k8s_workload_uid k8s_pod_uid"),
		columnsOf(least, "first_seen"), versionColumns)}
	podResources = &table{"pod_resources", slices.Concat(columnsOf(key, "allocation"),
		columnsOf(first, "hw_id hw_parent hw_model hw_gpu_partition_profile k8s_cluster_name k8s_node_name host_name k8s_namespace_name k8s_pod_name "+
			"k8s_pod_uid k8s_container_name slurm_job_id k8s_resource_name hw_gpu_allocator hw_gpu_use_count hw_gpu_use_start_time"),
		columnsOf(latest, "k8s_workload_kind k8s_workload_name hw_gpu_sharing labels"),
		columnsOf(first, "hw_gpu_use_start_known hw_gpu_use_end_time hw_gpu_use_end_known hw_gpu_use_duration hw_gpu_use_gpu_time hw_gpu_use_busy_time "+
			"hw_gpu_use_idle_time hw_gpu_use_energy hw_gpu_use_memory_peak hw_gpu_use_memory_mean"), versionColumns)}
)

// The tables whose rows come from metrics.
var (
	gpus = &table{"gpus", slices.Concat(columnsOf(key, "hw_id"),
		columnsOf(newest, "hw_parent hw_name hw_model hw_vendor hw_gpu_partition_profile k8s_cluster_name k8s_node_name host_name"),
		columnsOf(least, "first_seen"), columnsOf(greatest, "last_seen"))}
	gpuReads    = &table{"gpu_reads", slices.Concat(columnsOf(key, "hw_id"), columnsOf(newest, "read_time content"))}
	allocations = &table{"allocations", slices.Concat(columnsOf(key, "hw_id holder hour_time"),
		columnsOf(least, "start_time"), columnsOf(greatest, "end_time"),
		columnsOf(newest, "hw_parent hw_model hw_gpu_partition_profile k8s_cluster_name k8s_node_name host_name k8s_namespace_name k8s_pod_name "+
			"k8s_pod_uid k8s_container_name k8s_workload_kind k8s_workload_name slurm_job_id slurm_job_user slurm_job_account labels share"),
		columnsOf(add, "held_time busy_time idle_time unknown_use_time unallocated_time unknown_time energy"),
		columnsOf(greatest, "memory_peak"))}
)

// tables are all tables.
var tables = []*table{gpuEvents, gpuPodsEvents, podSnapshots, gpuPods, gpuWorkloads, workloadPods, podResources, gpus, allocations, gpuReads, allocationDays}

// upsert returns the statement that writes so many rows, or merges each into the row with the same key.
func (t *table) upsert(d dialect, rows int) string {
	names := make([]string, len(t.columns))
	var keys, sets []string
	for i, c := range t.columns {
		names[i] = c.name
		if c.rule == key {
			keys = append(keys, c.name)
		} else {
			sets = append(sets, c.name+" = "+t.merged(d, c))
		}
	}
	conflict := fmt.Sprintf("ON CONFLICT (%s) DO UPDATE SET", strings.Join(keys, ", "))
	if d == mySQL {
		conflict = "ON DUPLICATE KEY UPDATE"
	}
	lists := make([]string, rows)
	for n := range lists {
		places := make([]string, len(names))
		for i := range places {
			places[i] = d.place(n*len(names) + i + 1)
		}
		lists[n] = "(" + strings.Join(places, ", ") + ")"
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES %s %s %s", t.name, strings.Join(names, ", "), strings.Join(lists, ", "), conflict, strings.Join(sets, ", "))
}

// merged returns the value of a column of two rows with the same key.
func (t *table) merged(d dialect, c column) string {
	stored, added := t.stored(d, c.name), d.added(c.name)
	switch c.rule {
	case latest:
		time, addedTime := t.stored(d, "updated_time"), d.added("updated_time")
		return fmt.Sprintf("CASE WHEN %[1]s > %[2]s OR %[1]s = %[2]s AND %[3]s > %[4]s THEN %[5]s ELSE %[6]s END",
			addedTime, time, d.added("uid"), t.stored(d, "uid"), added, stored)
	case least:
		return fmt.Sprintf("CASE WHEN %[1]s IS NULL OR %[2]s < %[1]s THEN %[2]s ELSE %[1]s END", stored, added)
	case greatest:
		return fmt.Sprintf("CASE WHEN %[1]s IS NULL OR %[2]s > %[1]s THEN %[2]s ELSE %[1]s END", stored, added)
	case add:
		return fmt.Sprintf("COALESCE(%[1]s + %[2]s, %[1]s, %[2]s)", stored, added)
	case newest:
		return added
	default:
		return fmt.Sprintf("COALESCE(%s, %s)", stored, added)
	}
}

func (t *table) stored(d dialect, name string) string {
	if d == mySQL {
		return name
	}
	return t.name + "." + name
}

func (d dialect) added(name string) string {
	if d == mySQL {
		return "VALUES(" + name + ")"
	}
	return "excluded." + name
}

// place is the placeholder of the n-th argument.
func (d dialect) place(n int) string {
	if d == postgres {
		return fmt.Sprintf("$%d", n)
	}
	return "?"
}
