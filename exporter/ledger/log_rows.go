// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/plog"
)

// rowsOfLogs returns the rows of the records that the ledger keeps. A record without log.record.uid is not one of the gpu receiver.
func rowsOfLogs(logs plog.Logs) []row {
	var rows []row
	for _, resource := range logs.ResourceLogs().All() {
		for _, scope := range resource.ScopeLogs().All() {
			for _, record := range scope.LogRecords().All() {
				e := &event{
					attributes: attributes{record.Attributes(), resource.Resource().Attributes()},
					eventName:  record.EventName(), record: record, time: timeOf(record),
				}
				if e.uid = shortened(e.text("log.record.uid")); e.uid != "" {
					rows = append(rows, e.rows()...)
				}
			}
		}
	}
	return rows
}

// event is a log record of the gpu receiver.
type event struct {
	attributes
	eventName string
	uid       string
	time      string
	record    plog.LogRecord
}

func timeOf(record plog.LogRecord) string {
	timestamp := record.Timestamp()
	if timestamp == 0 {
		timestamp = record.ObservedTimestamp()
	}
	return timeText(timestamp.AsTime())
}

func (e *event) rows() []row {
	switch {
	case strings.HasPrefix(e.eventName, "container.gpu."):
		return e.allocationRows()
	case e.eventName == "k8s.pod.gpu.snapshot":
		values := map[string]any{"uid": e.uid, "event_time": e.time, "snapshot": storable(e.record.Body().AsString())}
		e.names(values, "k8s.pod.uid", "k8s.namespace.name", "k8s.pod.name")
		return append(e.referenceRows(), row{podSnapshots, values})
	case strings.HasPrefix(e.eventName, "k8s.pod.gpu."):
		return append(e.referenceRows(), e.podRows()...)
	case strings.HasPrefix(e.eventName, "k8s.workload.gpu."):
		return e.workloadRows()
	case strings.HasPrefix(e.eventName, "hw.gpu."):
		return []row{e.gpuEventRow()}
	}
	return nil
}

func (e *event) gpuEventRow() row {
	values := e.eventValues()
	e.names(values, "hw.id", "hw.parent", "hw.model", "k8s.cluster.name", "k8s.node.name", "host.name", "hw.state", "hw.gpu.xid",
		"hw.gpu.recommended_action", "k8s.namespace.name", "k8s.pod.name", "k8s.pod.uid")
	values["attributes"] = storable(jsonText(e.own.AsRaw()))
	return row{gpuEvents, values}
}

// eventValues returns what the rows of all events have.
func (e *event) eventValues() map[string]any {
	return map[string]any{
		"uid": e.uid, "event_time": e.time, "event_name": shortened(storable(e.eventName)),
		"severity_number": int64(e.record.SeverityNumber()), "body": storable(e.record.Body().AsString()),
	}
}

// podRows returns the rows of what happened to a pod.
func (e *event) podRows() []row {
	values := e.eventValues()
	e.names(values, "k8s.pod.uid", "k8s.namespace.name", "k8s.pod.name", "k8s.node.name", "k8s.pod.status.phase", "k8s.pod.condition.type",
		"k8s.pod.condition.status", "k8s.pod.condition.reason", "k8s.container.name")
	values["k8s_pod_status_reason"] = nullable(e.text("k8s.pod.status.reason"))
	values["restart_count"] = e.number("k8s.container.restart_count")
	values["exit_code"] = e.number("k8s.container.exit_code")
	values["terminated_reason"] = e.value("k8s.container.status.last_terminated_reason")
	rows := []row{{gpuPodsEvents, values}}
	if e.value("k8s.pod.uid") != nil {
		rows = append(rows, e.podRow())
	}
	return rows
}

// podRow returns what the record says of the pod as a whole.
func (e *event) podRow() row {
	values := e.version()
	e.names(values, "k8s.pod.uid", "k8s.cluster.name", "k8s.namespace.name", "k8s.pod.name", "k8s.node.name", "k8s.workload.uid",
		"k8s.workload.kind", "k8s.workload.name", "k8s.pod.status.phase")
	values["k8s_resource_requests"], values["labels"] = e.list("k8s.resource.requests"), e.labels()
	switch strings.TrimPrefix(e.eventName, "k8s.pod.gpu.") {
	case "created":
		values["created_time"] = e.time
	case "scheduled":
		values["scheduled_time"] = e.time
	case "phase":
		if e.text("k8s.pod.status.phase") == "Running" {
			values["running_time"] = e.time
		}
	case "restarted":
		values["restart_count"] = e.number("k8s.container.restart_count")
	case "finished":
		values["finished_time"] = e.time
		values["exit_code"] = e.number("k8s.container.exit_code")
		values["terminated_reason"] = e.value("k8s.container.status.last_terminated_reason")
	case "deleted":
		values["deleted_time"] = e.time
	}
	return row{gpuPods, values}
}

// referenceRows returns which workload the pod belongs to.
func (e *event) referenceRows() []row {
	values := e.version()
	e.names(values, "k8s.workload.uid", "k8s.pod.uid")
	if values["k8s_workload_uid"] == nil || values["k8s_pod_uid"] == nil {
		return nil
	}
	values["first_seen"] = e.time
	return []row{{workloadPods, values}}
}

func (e *event) workloadRows() []row {
	values := e.version()
	e.names(values, "k8s.workload.uid", "k8s.cluster.name", "k8s.namespace.name", "k8s.workload.kind", "k8s.workload.name",
		"k8s.workload.api_version")
	if values["k8s_workload_uid"] == nil {
		return nil
	}
	values["k8s_workload_owners"], values["k8s_resource_requests"], values["labels"] = e.list("k8s.workload.owners"), e.list("k8s.resource.requests"), e.labels()
	values["pod_count"], values["pod_count_peak"] = e.number("k8s.workload.pod_count"), e.number("k8s.workload.pod_count")
	switch strings.TrimPrefix(e.eventName, "k8s.workload.gpu.") {
	case "started":
		values["started_time"] = e.time
	case "ended":
		values["ended_time"] = e.time
	}
	return []row{{gpuWorkloads, values}}
}

// allocationRows returns what a container was given, and what it used of it.
func (e *event) allocationRows() []row {
	values := e.version()
	e.names(values, "hw.id", "hw.parent", "hw.model", "hw.gpu.partition.profile", "k8s.cluster.name", "k8s.node.name", "host.name",
		"k8s.namespace.name", "k8s.pod.name", "k8s.pod.uid", "k8s.container.name", "k8s.workload.kind", "k8s.workload.name", "slurm.job.id",
		"k8s.resource.name", "hw.gpu.allocator", "hw.gpu.sharing")
	e.numbers(values, "hw.gpu.use.count", "hw.gpu.use.duration", "hw.gpu.use.gpu_time", "hw.gpu.use.busy_time", "hw.gpu.use.idle_time",
		"hw.gpu.use.energy", "hw.gpu.use.memory_peak", "hw.gpu.use.memory_mean")
	values["hw_gpu_use_start_time"], values["hw_gpu_use_start_known"] = e.timeValue("hw.gpu.use.start_time"), e.flag("hw.gpu.use.start_known")
	values["hw_gpu_use_end_time"], values["hw_gpu_use_end_known"] = e.timeValue("hw.gpu.use.end_time"), e.flag("hw.gpu.use.end_known")
	values["labels"] = e.labels()
	if values["hw_gpu_use_start_time"] == nil {
		return nil
	}
	values["allocation"] = identifier(holderOf(e.attributes), e.text("hw.id"), e.text("k8s.resource.name"), e.text("hw.gpu.use.start_time"))
	return []row{{podResources, values}}
}

// version returns what orders the rows of one key.
func (e *event) version() map[string]any {
	return map[string]any{"uid": e.uid, "updated_time": e.time}
}
