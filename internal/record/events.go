// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// EventRecorder records events as log records. The records are made here and not by the generated builder, which sets
// neither severity, nor body, nor the time of observation, and orders records by kind instead of by time. What is around them
// is the builder's: the resource, and whether it passes the filters.
type EventRecorder struct {
	config    metadata.EventsConfig
	lb        *metadata.LogsBuilder
	resources *metadata.ResourceBuilder
}

// NewEvents returns a recorder of the events that the configuration enables. It is not safe for concurrent use.
func NewEvents(config metadata.LogsBuilderConfig, settings receiver.Settings) *EventRecorder {
	lb := metadata.NewLogsBuilder(config, settings)
	return &EventRecorder{config: config.Events, lb: lb, resources: lb.NewResourceBuilder()}
}

// Record returns the events of a host, observed now. Each record has the time of its event, a severity, and a body for a
// person beside the attributes for machines.
func (r *EventRecorder) Record(host *gpu.Host, events []gpu.Event, now pcommon.Timestamp) plog.Logs {
	if len(events) == 0 {
		return plog.NewLogs() // as at most intervals
	}
	for i := range events {
		name, enabled := r.name(events[i].Type)
		if !enabled {
			continue
		}
		record := plog.NewLogRecord()
		record.SetEventName(name)
		record.SetObservedTimestamp(now)
		fill(record, &events[i])
		r.lb.AppendLogRecord(record)
	}
	return r.lb.Emit(metadata.WithLogsResource(r.resource(host)))
}

func (r *EventRecorder) name(t gpu.EventType) (string, bool) {
	switch t {
	case gpu.EventXID:
		return "hw.gpu.xid", r.config.HwGpuXid.Enabled
	case gpu.EventStatus:
		return "hw.gpu.status", r.config.HwGpuStatus.Enabled
	case gpu.EventProcessStarted:
		return "process.gpu.started", r.config.ProcessGpuStarted.Enabled
	case gpu.EventProcessExited:
		return "process.gpu.exited", r.config.ProcessGpuExited.Enabled
	default:
		return "", false
	}
}

// resource is that of the host's metrics.
func (r *EventRecorder) resource(host *gpu.Host) pcommon.Resource {
	setText(host.Name, r.resources.SetHostName)
	setText(host.NodeName, r.resources.SetK8sNodeName)
	setText(host.ClusterName, r.resources.SetK8sClusterName)
	res := r.resources.Emit()
	for name, value := range host.Labels {
		res.Attributes().PutStr(name, value)
	}
	return res
}

func fill(record plog.LogRecord, e *gpu.Event) {
	record.SetTimestamp(pcommon.NewTimestampFromTime(e.Time))
	record.SetSeverityNumber(severity(e))
	if e.Message != "" {
		record.Body().SetStr(e.Message)
	}
	attrs := record.Attributes()
	put := func(name, text string) {
		if text != "" {
			attrs.PutStr(name, text)
		}
	}
	put("hw.id", e.DeviceID)
	put("hw.name", e.Name)
	put("hw.model", e.Model)
	put("hw.vendor", string(e.Vendor))
	switch e.Type {
	case gpu.EventXID:
		attrs.PutInt("hw.gpu.xid", e.XID)
	case gpu.EventStatus:
		put("hw.state", states[e.State].String())
		if previous, ok := e.Previous.Get(); ok {
			put("hw.state.previous", states[previous].String())
		}
	case gpu.EventProcessStarted, gpu.EventProcessExited:
		fillProcess(attrs, e.Process)
	}
}

// fillProcess puts on a record which process it is about, and in which container it runs.
func fillProcess(attrs pcommon.Map, p *gpu.Process) {
	put := func(name, text string) {
		if text != "" {
			attrs.PutStr(name, text)
		}
	}
	attrs.PutInt("process.pid", p.PID)
	put("process.executable.name", p.Executable)
	put("process.command", p.Command)
	if !p.Created.IsZero() {
		put("process.creation.time", iso8601(p.Created))
	}
	put("process.gpu.type", processTypeNames[p.Type])
	if c := p.Container; c != nil {
		put("container.id", c.ID)
		put("k8s.container.name", c.Name)
		put("k8s.namespace.name", c.Namespace)
		put("k8s.pod.name", c.PodName)
		put("k8s.pod.uid", c.PodUID)
	}
}

// severity of a change of state is that of the new state. An XID is a warning: many mean a fault of the program that used
// the GPU; the code tells.
func severity(e *gpu.Event) plog.SeverityNumber {
	switch {
	case e.Type == gpu.EventXID:
		return plog.SeverityNumberWarn
	case e.Type == gpu.EventProcessStarted, e.Type == gpu.EventProcessExited:
		return plog.SeverityNumberInfo
	case e.State == gpu.StateFailed:
		return plog.SeverityNumberError
	case e.State == gpu.StateOK:
		return plog.SeverityNumberInfo
	default:
		return plog.SeverityNumberWarn
	}
}
