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
	name       string
	enabled    bool
	needs      gpu.Group // what a source reads for it
	attributed gpu.Group // and also these, if the use of devices is attributed to containers
}

// eventTable is the table of events.
func eventTable(e *metadata.EventsConfig) [gpu.NumEventTypes]event {
	const used = gpu.GroupProcesses | gpu.GroupProcessUtilization | gpu.GroupUtilization | gpu.GroupMediaUtilization | gpu.GroupEnergy | gpu.GroupMemory
	return [gpu.NumEventTypes]event{
		gpu.EventXID:              {"hw.gpu.xid", e.HwGpuXid.Enabled, gpu.GroupEvents, gpu.GroupProcesses},
		gpu.EventStatus:           {"hw.gpu.status", e.HwGpuStatus.Enabled, health, gpu.GroupProcesses},
		gpu.EventSourceFailed:     {"hw.gpu.source.failed", e.HwGpuSourceFailed.Enabled, 0, 0},
		gpu.EventSourceRecovered:  {"hw.gpu.source.recovered", e.HwGpuSourceRecovered.Enabled, 0, 0},
		gpu.EventRASError:         {"hw.gpu.ras_error", e.HwGpuRasError.Enabled, gpu.GroupECC, gpu.GroupProcesses},
		gpu.EventBadPages:         {"hw.gpu.bad_pages", e.HwGpuBadPages.Enabled, gpu.GroupRemappedRows, gpu.GroupProcesses},
		gpu.EventReset:            {"hw.gpu.reset", e.HwGpuReset.Enabled, 0, gpu.GroupProcesses},
		gpu.EventRingTimeout:      {"hw.gpu.ring_timeout", e.HwGpuRingTimeout.Enabled, 0, gpu.GroupProcesses},
		gpu.EventPCIeError:        {"hw.gpu.pcie_error", e.HwGpuPcieError.Enabled, 0, gpu.GroupProcesses},
		gpu.EventLost:             {"hw.gpu.lost", e.HwGpuLost.Enabled, 0, gpu.GroupProcesses},
		gpu.EventSwitchError:      {"hw.gpu.switch_error", e.HwGpuSwitchError.Enabled, 0, 0},
		gpu.EventProcessStarted:   {"process.gpu.started", e.ProcessGpuStarted.Enabled, gpu.GroupProcesses, 0},
		gpu.EventProcessExited:    {"process.gpu.exited", e.ProcessGpuExited.Enabled, gpu.GroupProcesses | gpu.GroupProcessUtilization, 0},
		gpu.EventAllocated:        {"container.gpu.allocated", e.ContainerGpuAllocated.Enabled, 0, 0},
		gpu.EventReleased:         {"container.gpu.released", e.ContainerGpuReleased.Enabled, 0, used},
		gpu.EventPodCreated:       {"k8s.pod.gpu.created", e.K8sPodGpuCreated.Enabled, 0, 0},
		gpu.EventPodPending:       {"k8s.pod.gpu.pending", e.K8sPodGpuPending.Enabled, 0, 0},
		gpu.EventPodScheduled:     {"k8s.pod.gpu.scheduled", e.K8sPodGpuScheduled.Enabled, 0, 0},
		gpu.EventPodPhase:         {"k8s.pod.gpu.phase", e.K8sPodGpuPhase.Enabled, 0, 0},
		gpu.EventPodCondition:     {"k8s.pod.gpu.condition", e.K8sPodGpuCondition.Enabled, 0, 0},
		gpu.EventPodRestarted:     {"k8s.pod.gpu.restarted", e.K8sPodGpuRestarted.Enabled, 0, 0},
		gpu.EventPodEvicted:       {"k8s.pod.gpu.evicted", e.K8sPodGpuEvicted.Enabled, 0, 0},
		gpu.EventPodFinished:      {"k8s.pod.gpu.finished", e.K8sPodGpuFinished.Enabled, 0, 0},
		gpu.EventPodDeleted:       {"k8s.pod.gpu.deleted", e.K8sPodGpuDeleted.Enabled, 0, 0},
		gpu.EventPodSnapshot:      {"k8s.pod.gpu.snapshot", e.K8sPodGpuSnapshot.Enabled, 0, 0},
		gpu.EventWorkloadStarted:  {"k8s.workload.gpu.started", e.K8sWorkloadGpuStarted.Enabled, 0, 0},
		gpu.EventWorkloadChanged:  {"k8s.workload.gpu.changed", e.K8sWorkloadGpuChanged.Enabled, 0, 0},
		gpu.EventWorkloadEnded:    {"k8s.workload.gpu.ended", e.K8sWorkloadGpuEnded.Enabled, 0, 0},
		gpu.EventThrottledStarted: {"hw.gpu.throttled.started", e.HwGpuThrottledStarted.Enabled, gpu.GroupThrottle, gpu.GroupProcesses},
		gpu.EventThrottledEnded:   {"hw.gpu.throttled.ended", e.HwGpuThrottledEnded.Enabled, gpu.GroupThrottle, gpu.GroupProcesses},
	}
}

// eventNeeds returns what a source reads for the enabled events. attributed is as in Wanted.
func eventNeeds(e *metadata.EventsConfig, attributed bool) gpu.Group {
	var needs gpu.Group
	for _, event := range eventTable(e) {
		if event.enabled {
			needs |= event.needs
		}
		if event.enabled && attributed {
			needs |= event.attributed
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
	return logsWithSchema(r.builder.Emit(metadata.WithLogsResource(hostResource(r.resources, host))))
}

func (r *EventRecorder) setEvent(record plog.LogRecord, e *gpu.Event) {
	record.SetTimestamp(pcommon.NewTimestampFromTime(e.Time))
	record.SetSeverityNumber(severity(e))
	if e.Message != "" {
		record.Body().SetStr(e.Message)
	}
	a := attributes{record.Attributes()}
	a.text("log.record.uid", e.UID)
	a.text("hw.id", e.DeviceID)
	a.text("hw.parent", e.Parent)
	a.text("hw.name", e.Name)
	a.text("hw.model", e.Model)
	a.text("hw.vendor", string(e.Vendor))
	a.time("hw.gpu.event.last_seen_time", e.LastSeen)
	switch e.Type {
	case gpu.EventXID:
		setXID(record, e)
	case gpu.EventStatus:
		setStatus(record, e)
	case gpu.EventSourceFailed:
		a.text("hw.gpu.source.name", e.Source)
		a.text("error.type", failureReasons[e.Failure.Reason])
	case gpu.EventSourceRecovered:
		a.text("hw.gpu.source.name", e.Source)
	case gpu.EventProcessStarted, gpu.EventProcessExited:
		r.setProcess(a, e.Process)
		a.text("hw.gpu.partition.profile", e.Profile)
		a.use(e.Use)
	case gpu.EventAllocated, gpu.EventReleased:
		setAllocation(record, e)
	case gpu.EventThrottledStarted, gpu.EventThrottledEnded:
		setThrottled(record, e)
	case gpu.EventPodCreated, gpu.EventPodPending, gpu.EventPodScheduled, gpu.EventPodPhase, gpu.EventPodCondition, gpu.EventPodRestarted,
		gpu.EventPodEvicted, gpu.EventPodFinished, gpu.EventPodDeleted, gpu.EventPodSnapshot:
		a.pod(e.Pod)
	case gpu.EventWorkloadStarted, gpu.EventWorkloadChanged, gpu.EventWorkloadEnded:
		a.workloadChange(e.Workload)
	case gpu.EventRASError, gpu.EventBadPages, gpu.EventReset, gpu.EventRingTimeout, gpu.EventPCIeError, gpu.EventLost,
		gpu.EventSwitchError:
		setFault(record, e)
	}
}

// setProcess sets the process of an event and the container that it runs in.
func (r *EventRecorder) setProcess(a attributes, p *gpu.Process) {
	a.PutInt("process.pid", p.PID)
	a.text("process.executable.name", p.Executable)
	if r.command {
		a.text("process.command", p.Command)
	}
	a.time("process.creation.time", p.Created)
	a.text("process.gpu.type", processTypeNames[p.Type])
	if p.Container != nil {
		a.workload(p.Container)
		a.labels(p.Container.Labels)
	}
}
