// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

func newEvents(change func(*metadata.LogsBuilderConfig)) *EventRecorder {
	cfg := metadata.DefaultLogsBuilderConfig()
	if change != nil {
		change(&cfg)
	}
	return NewEvents(cfg, newSettings())
}

func allEvents() []gpu.Event {
	return []gpu.Event{
		{
			Type: gpu.EventXID, Time: at(1), DeviceID: gpuID, Name: "nvidia0", Model: "NVIDIA H100 80GB HBM3", Vendor: gpu.NVIDIA,
			XID: 79, Message: "XID 79: the GPU has fallen off the bus",
		},
		{
			Type: gpu.EventStatus, Time: at(2), DeviceID: gpuID, Name: "nvidia0", Model: "NVIDIA H100 80GB HBM3", Vendor: gpu.NVIDIA,
			State: gpu.StateFailed, Previous: gpu.Some(gpu.StateOK), Message: "lost",
		},
		{Type: gpu.EventStatus, Time: at(3), DeviceID: amdID, Vendor: gpu.AMD, State: gpu.StatePredictedFailure},
		{Type: gpu.EventStatus, Time: at(4), DeviceID: amdID, Vendor: gpu.AMD, State: gpu.StateOK, Previous: gpu.Some(gpu.StatePredictedFailure)},
		{Type: gpu.EventXID, Time: at(5), DeviceID: migID, Vendor: gpu.NVIDIA},
	}
}

var observed = pcommon.NewTimestampFromTime(at(30))

func TestGoldenEvents(t *testing.T) {
	host := fullNode().Host
	compareLogs(t, "events.yaml", newEvents(nil).Record(&host, allEvents(), observed))
}

func recordsOf(logs plog.Logs) []plog.LogRecord {
	var records []plog.LogRecord
	for _, rl := range logs.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, record := range sl.LogRecords().All() {
				records = append(records, record)
			}
		}
	}
	return records
}

// Each record has a name, the time of the event, a severity, a body for people and attributes for machines.
func TestEventRecords(t *testing.T) {
	host := gpu.Host{Name: "node-a"}
	records := recordsOf(newEvents(nil).Record(&host, allEvents(), observed))
	require.Len(t, records, 5)
	want := []struct {
		name       string
		seconds    int
		severity   plog.SeverityNumber
		body       string
		attributes map[string]any
	}{
		{"hw.gpu.xid", 1, plog.SeverityNumberWarn, "XID 79: the GPU has fallen off the bus", of(
			"hw.id", gpuID, "hw.name", "nvidia0", "hw.model", "NVIDIA H100 80GB HBM3", "hw.vendor", "NVIDIA", "hw.gpu.xid", int64(79))},
		{"hw.gpu.status", 2, plog.SeverityNumberError, "lost", of(
			"hw.id", gpuID, "hw.name", "nvidia0", "hw.model", "NVIDIA H100 80GB HBM3", "hw.vendor", "NVIDIA",
			"hw.state", "failed", "hw.gpu.previous_state", "ok")},
		{"hw.gpu.status", 3, plog.SeverityNumberWarn, "", of("hw.id", amdID, "hw.vendor", "AMD", "hw.state", "predicted_failure")},
		{"hw.gpu.status", 4, plog.SeverityNumberInfo, "", of(
			"hw.id", amdID, "hw.vendor", "AMD", "hw.state", "ok", "hw.gpu.previous_state", "predicted_failure")},
		{"hw.gpu.xid", 5, plog.SeverityNumberWarn, "", of("hw.id", migID, "hw.vendor", "NVIDIA", "hw.gpu.xid", int64(0))},
	}
	for i, record := range records {
		assert.Equal(t, want[i].name, record.EventName())
		assert.Equal(t, at(want[i].seconds), record.Timestamp().AsTime())
		assert.Equal(t, observed, record.ObservedTimestamp())
		assert.Equal(t, want[i].severity, record.SeverityNumber(), "%d", i)
		assert.Empty(t, record.SeverityText(), "the conventions define none")
		assert.Equal(t, want[i].body, record.Body().AsString())
		assert.Equal(t, want[i].attributes, record.Attributes().AsRaw())
	}
}

// The events of processes have the container of the process. They are disabled by default.
func TestProcessEvents(t *testing.T) {
	host := gpu.Host{Name: "node-a"}
	in := &gpu.Process{
		PID: 41, DeviceID: gpuID, Type: gpu.ProcessCompute, Created: at(0), Executable: "python3", Command: "/usr/bin/python3",
		Container: &gpu.Container{ID: "c1", Name: "main", Namespace: "team", PodName: "train-0", PodUID: "u1"},
	}
	events := []gpu.Event{
		{Type: gpu.EventProcessStarted, Time: at(1), DeviceID: gpuID, Vendor: gpu.NVIDIA, Process: in, Message: "python3 started"},
		{Type: gpu.EventProcessExited, Time: at(2), DeviceID: gpuID, Vendor: gpu.NVIDIA, Process: &gpu.Process{PID: 42, DeviceID: gpuID}},
	}
	assert.Zero(t, newEvents(nil).Record(&host, events, observed).LogRecordCount(), "off by default")

	records := recordsOf(newEvents(func(c *metadata.LogsBuilderConfig) { enable(&c.Events, true) }).Record(&host, events, observed))
	require.Len(t, records, 2)
	_, sent := records[0].Attributes().Get("process.command")
	assert.False(t, sent, "it may contain secrets, and is off by default")

	records = recordsOf(newEvents(func(c *metadata.LogsBuilderConfig) {
		enable(&c.Events, true)
		c.ResourceAttributes.ProcessCommand.Enabled = true
	}).Record(&host, events, observed))
	require.Len(t, records, 2)
	assert.Equal(t, "process.gpu.started", records[0].EventName())
	assert.Equal(t, plog.SeverityNumberInfo, records[0].SeverityNumber())
	assert.Equal(t, "python3 started", records[0].Body().AsString())
	assert.Equal(t, of(
		"hw.id", gpuID, "hw.vendor", "NVIDIA", "process.pid", int64(41), "process.executable.name", "python3",
		"process.command", "/usr/bin/python3", "process.creation.time", iso8601(at(0)), "process.gpu.type", "compute",
		"container.id", "c1", "k8s.container.name", "main", "k8s.namespace.name", "team", "k8s.pod.name", "train-0", "k8s.pod.uid", "u1",
	), records[0].Attributes().AsRaw())
	assert.Equal(t, "process.gpu.exited", records[1].EventName())
	assert.Equal(t, of("hw.id", gpuID, "hw.vendor", "NVIDIA", "process.pid", int64(42)), records[1].Attributes().AsRaw(), "what is not known has no attribute")
}

// A degraded GPU is a warning, and so is a predicted failure.
func TestSeverityOfEachState(t *testing.T) {
	want := [gpu.NumStates]plog.SeverityNumber{
		gpu.StateOK: plog.SeverityNumberInfo, gpu.StateDegraded: plog.SeverityNumberWarn,
		gpu.StateFailed: plog.SeverityNumberError, gpu.StatePredictedFailure: plog.SeverityNumberWarn,
	}
	for state, severe := range want {
		assert.Equal(t, severe, severity(&gpu.Event{Type: gpu.EventStatus, State: gpu.State(state)}), "state %d", state)
	}
}

func TestEventResource(t *testing.T) {
	host := fullNode().Host
	logs := newEvents(nil).Record(&host, allEvents(), observed)
	require.Equal(t, 1, logs.ResourceLogs().Len())
	rl := logs.ResourceLogs().At(0)
	assert.Equal(t, of("host.name", "node-a", "k8s.node.name", "node-a", "k8s.cluster.name", "prod", "k8s.node.label.pool", "gpu"),
		rl.Resource().Attributes().AsRaw(), "the same resource that the host's metrics have")
	assert.Equal(t, "https://opentelemetry.io/schemas/1.43.0", rl.SchemaUrl())
	assert.Equal(t, metadata.ScopeName, rl.ScopeLogs().At(0).Scope().Name())
}

func TestDisabledEvents(t *testing.T) {
	host := gpu.Host{Name: "node-a"}
	tests := map[string]struct {
		change func(*metadata.LogsBuilderConfig)
		want   []string
	}{
		"xid off":    {func(c *metadata.LogsBuilderConfig) { c.Events.HwGpuXid.Enabled = false }, []string{"hw.gpu.status", "hw.gpu.status", "hw.gpu.status"}},
		"status off": {func(c *metadata.LogsBuilderConfig) { c.Events.HwGpuStatus.Enabled = false }, []string{"hw.gpu.xid", "hw.gpu.xid"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var names []string
			for _, record := range recordsOf(newEvents(test.change).Record(&host, allEvents(), observed)) {
				names = append(names, record.EventName())
			}
			assert.Equal(t, test.want, names)
		})
	}
	t.Run("all off", func(t *testing.T) {
		off := newEvents(func(c *metadata.LogsBuilderConfig) { enable(&c.Events, false) })
		assert.Zero(t, off.Record(&host, allEvents(), observed).ResourceLogs().Len(), "not even an empty resource")
	})
	t.Run("no events", func(t *testing.T) {
		assert.Zero(t, newEvents(nil).Record(&host, nil, observed).ResourceLogs().Len())
	})
}

// Each event of the vocabulary is in the table with its name and its switch.
func TestEachEventTypeIsInTheTable(t *testing.T) {
	var names []string
	for _, event := range newEvents(func(c *metadata.LogsBuilderConfig) { enable(&c.Events, true) }).events {
		assert.True(t, event.enabled, event.name)
		names = append(names, event.name)
	}
	declared := reflect.TypeFor[metadata.EventsConfig]()
	require.Len(t, names, declared.NumField())
	for i := range names {
		assert.Contains(t, names, declared.Field(i).Tag.Get("mapstructure"))
	}
}
