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

// EventRecorder records events as log records. It builds the records itself, because the generated builder sets neither the
// severity, nor the body, nor the observed time, and sorts records by event instead of time. The generated builder adds the
// resource and applies its filters.
type EventRecorder struct {
	events    [gpu.NumEventTypes]event
	builder   *metadata.LogsBuilder
	resources *metadata.ResourceBuilder
	command   bool // process.command may contain secrets
}

// event is one line of the table of events.
type event struct {
	name    string
	enabled bool
	needs   gpu.Group // what a source reads for it
}

// eventTable is the table of events.
func eventTable(e *metadata.EventsConfig) [gpu.NumEventTypes]event {
	return [gpu.NumEventTypes]event{
		gpu.EventXID:             {"hw.gpu.xid", e.HwGpuXid.Enabled, gpu.GroupEvents},
		gpu.EventStatus:          {"hw.gpu.status", e.HwGpuStatus.Enabled, gpu.GroupRemappedRows | gpu.GroupRecovery},
		gpu.EventSourceFailed:    {"hw.gpu.source.failed", e.HwGpuSourceFailed.Enabled, 0},
		gpu.EventSourceRecovered: {"hw.gpu.source.recovered", e.HwGpuSourceRecovered.Enabled, 0},
		gpu.EventProcessStarted:  {"process.gpu.started", e.ProcessGpuStarted.Enabled, gpu.GroupProcesses},
		gpu.EventProcessExited:   {"process.gpu.exited", e.ProcessGpuExited.Enabled, gpu.GroupProcesses},
	}
}

// eventNeeds returns what a source reads for the enabled events.
func eventNeeds(e *metadata.EventsConfig) gpu.Group {
	var needs gpu.Group
	for _, event := range eventTable(e) {
		if event.enabled {
			needs |= event.needs
		}
	}
	return needs
}

// NewEvents returns a recorder of the events that the configuration enables. It is not safe for concurrent use.
func NewEvents(config metadata.LogsBuilderConfig, settings receiver.Settings) *EventRecorder {
	builder := metadata.NewLogsBuilder(config, settings)
	return &EventRecorder{
		events: eventTable(&config.Events), builder: builder, resources: builder.NewResourceBuilder(),
		command: config.ResourceAttributes.ProcessCommand.Enabled,
	}
}

// Record returns the events of a host, with now as the observed time. Each record has the time of its event, a severity, and a body
// for people in addition to the attributes.
func (r *EventRecorder) Record(host *gpu.Host, events []gpu.Event, now pcommon.Timestamp) plog.Logs {
	if len(events) == 0 {
		return plog.NewLogs()
	}
	for i := range events {
		kind := r.events[events[i].Type]
		if !kind.enabled {
			continue
		}
		record := plog.NewLogRecord()
		record.SetEventName(kind.name)
		record.SetObservedTimestamp(now)
		r.setEvent(record, &events[i])
		r.builder.AppendLogRecord(record)
	}
	return r.builder.Emit(metadata.WithLogsResource(hostResource(r.resources, host)))
}

func (r *EventRecorder) setEvent(record plog.LogRecord, e *gpu.Event) {
	record.SetTimestamp(pcommon.NewTimestampFromTime(e.Time))
	record.SetSeverityNumber(severity(e))
	if e.Message != "" {
		record.Body().SetStr(e.Message)
	}
	a := attributes{record.Attributes()}
	a.text("hw.id", e.DeviceID)
	a.text("hw.name", e.Name)
	a.text("hw.model", e.Model)
	a.text("hw.vendor", string(e.Vendor))
	switch e.Type {
	case gpu.EventXID:
		a.PutInt("hw.gpu.xid", e.XID)
	case gpu.EventStatus:
		a.text("hw.state", states[e.State].String())
		if previous, ok := e.Previous.Get(); ok {
			a.text("hw.gpu.previous_state", states[previous].String())
		}
	case gpu.EventSourceFailed:
		a.PutStr("hw.gpu.source.name", e.Source)
		a.PutStr("error.type", failureReasons[e.Failure.Reason])
	case gpu.EventSourceRecovered:
		a.PutStr("hw.gpu.source.name", e.Source)
	case gpu.EventProcessStarted, gpu.EventProcessExited:
		r.setProcess(a, e.Process)
	}
}

// setProcess sets the process of an event and the container that it runs in.
func (r *EventRecorder) setProcess(a attributes, p *gpu.Process) {
	a.PutInt("process.pid", p.PID)
	a.text("process.executable.name", p.Executable)
	if r.command {
		a.text("process.command", p.Command)
	}
	if !p.Created.IsZero() {
		a.text("process.creation.time", iso8601(p.Created))
	}
	a.text("process.gpu.type", processTypeNames[p.Type])
	if c := p.Container; c != nil {
		a.text("container.id", c.ID)
		a.text("k8s.container.name", c.Name)
		a.text("k8s.namespace.name", c.Namespace)
		a.text("k8s.pod.name", c.PodName)
		a.text("k8s.pod.uid", c.PodUID)
	}
}

// attributes sets attributes of a log record; absent ones stay unset.
type attributes struct{ pcommon.Map }

func (a attributes) text(name, value string) {
	if value != "" {
		a.PutStr(name, value)
	}
}

// severity returns the severity of the new state for a change of state. An XID is a warning: many XIDs report a fault of the program
// that used the GPU, and only the code distinguishes them.
func severity(e *gpu.Event) plog.SeverityNumber {
	switch {
	case e.Type == gpu.EventXID:
		return plog.SeverityNumberWarn
	case e.Type == gpu.EventProcessStarted, e.Type == gpu.EventProcessExited, e.Type == gpu.EventSourceRecovered:
		return plog.SeverityNumberInfo
	case e.Type == gpu.EventSourceFailed:
		return plog.SeverityNumberWarn
	case e.State == gpu.StateFailed:
		return plog.SeverityNumberError
	case e.State == gpu.StateOK:
		return plog.SeverityNumberInfo
	default:
		return plog.SeverityNumberWarn
	}
}
