// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
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
			UID: "u1", Type: gpu.EventXID, Time: timeAt(1), DeviceID: gpuID, Name: "nvidia0", Model: "NVIDIA H100 80GB HBM3", Vendor: gpu.NVIDIA, XID: 79,
			Holders: []*gpu.Container{trainer}, Users: []*gpu.Container{},
		},
		{
			UID: "u2", Type: gpu.EventStatus, Time: timeAt(2), DeviceID: gpuID, Name: "nvidia0", Model: "NVIDIA H100 80GB HBM3", Vendor: gpu.NVIDIA,
			State: gpu.StateFailed, Previous: gpu.Some(gpu.StateOK), Message: "lost", Faults: []gpu.FaultType{gpu.FaultLost},
			RecoveryAction: gpu.Some(gpu.RecoveryReboot), Holders: []*gpu.Container{trainer},
		},
		{UID: "u3", Type: gpu.EventStatus, Time: timeAt(3), DeviceID: amdID, Vendor: gpu.AMD, State: gpu.StatePredictedFailure},
		{UID: "u4", Type: gpu.EventStatus, Time: timeAt(4), DeviceID: amdID, Vendor: gpu.AMD, State: gpu.StateOK, Previous: gpu.Some(gpu.StatePredictedFailure), Lasted: gpu.Some(90 * time.Second)},
		{
			UID: "u5", Type: gpu.EventXID, Time: timeAt(20), First: timeAt(5), Count: 7, DeviceID: migID, Parent: gpuID, Vendor: gpu.NVIDIA, XID: 999, Follows: "u1",
		},
	}
}

// trainer is a container with everything that is known of one.
var trainer = &gpu.Container{
	ID: "c1", Name: "main", Namespace: "team", PodName: "train-0", PodUID: "p1",
	Owners: []gpu.Owner{{Kind: "ReplicaSet", Name: "train-5d9", APIVersion: "apps/v1"}, {Kind: "Deployment", Name: "train", APIVersion: "apps/v1"}},
}

// podEvents are one event of each type of a pod, with all that such events can have.
func podEvents() []gpu.Event {
	podChange := func(change gpu.PodChange) *gpu.PodChange {
		change.Namespace, change.Name, change.UID, change.Node = "team", "train-0", "p1", "node-a"
		change.Owners = []gpu.Owner{
			{Kind: "ReplicaSet", Name: "train-5d9", UID: "r1", APIVersion: "apps/v1"}, {Kind: "Deployment", Name: "train", UID: "d1", APIVersion: "apps/v1"},
		}
		change.Requests = []gpu.ResourceCount{{Resource: "nvidia.com/gpu", Count: gpu.Some[int64](2)}, {Resource: "nvidia.com/mig-1g.10gb", Count: gpu.Some[int64](1)}}
		change.Labels = map[string]string{"k8s.pod.label.team": "vision"}
		if change.Phase == "" {
			change.Phase = "Pending"
		}
		return &change
	}
	killed := &gpu.ContainerChange{Name: "main", ID: "c1", Restarts: 1, Reason: "OOMKilled", ExitCode: gpu.Some[int64](137)}
	return []gpu.Event{
		{UID: "u1", Type: gpu.EventPodCreated, Time: timeAt(1), Message: "team/train-0 was created and requests 2 nvidia.com/gpu, 1 nvidia.com/mig-1g.10gb", Pod: podChange(gpu.PodChange{})},
		{UID: "u2", Type: gpu.EventPodPending, Time: timeAt(2), Message: "team/train-0 is not scheduled: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", Pod: podChange(gpu.PodChange{Reason: "Unschedulable"})},
		{UID: "u3", Type: gpu.EventPodScheduled, Time: timeAt(3), Message: "team/train-0 was scheduled to node-a", Pod: podChange(gpu.PodChange{})},
		{UID: "u4", Type: gpu.EventPodPhase, Time: timeAt(4), Message: "team/train-0 is Running", Pod: podChange(gpu.PodChange{Phase: "Running", PreviousPhase: "Pending"})},
		{UID: "u5", Type: gpu.EventPodCondition, Time: timeAt(5), Message: "team/train-0: Ready is False: containers with unready status: [main]", Pod: podChange(gpu.PodChange{
			Phase: "Running", Condition: &gpu.PodCondition{Type: "Ready", Status: "False", Reason: "ContainersNotReady"},
		})},
		{UID: "u6", Type: gpu.EventPodRestarted, Time: timeAt(6), Message: "team/train-0: container main restarted (1 times) after exit code 137: OOMKilled", Pod: podChange(gpu.PodChange{Phase: "Running", Container: killed})},
		{UID: "u7", Type: gpu.EventPodEvicted, Time: timeAt(7), Message: "team/train-0 is evicted: Eviction API: evicting", Pod: podChange(gpu.PodChange{Phase: "Running", Reason: "EvictionByEvictionAPI"})},
		{UID: "u8", Type: gpu.EventPodFinished, Time: timeAt(8), Message: "team/train-0 has failed: container main ended with exit code 1: Error", Pod: podChange(gpu.PodChange{
			Phase: "Failed", PreviousPhase: "Running", Reason: "Error", Container: &gpu.ContainerChange{Name: "main", Reason: "Error", ExitCode: gpu.Some[int64](1)},
		})},
		{UID: "u9", Type: gpu.EventPodDeleted, Time: timeAt(9), Message: "team/train-0 is gone; the time of its deletion is unknown", Pod: podChange(gpu.PodChange{Phase: "Running", LastSeen: timeAt(8)})},
		{UID: "u10", Type: gpu.EventPodSnapshot, Time: timeAt(10), Message: `{"metadata":{"namespace":"team","name":"train-0","uid":"p1"},"spec":{"nodeName":"node-a"},"status":{"phase":"Running"}}`, Pod: podChange(gpu.PodChange{Phase: "Running"})},
	}
}

func TestGoldenWorkloadEvents(t *testing.T) {
	workloadChange := func(pods ...string) *gpu.WorkloadChange {
		return &gpu.WorkloadChange{
			Namespace: "team", Pods: pods, Labels: map[string]string{"k8s.pod.label.team": "vision"},
			Owners:   []gpu.Owner{{Kind: "Job", Name: "train-1", UID: "j1", APIVersion: "batch/v1"}, {Kind: "TrainJob", Name: "train", UID: "t1", APIVersion: "trainer.kubeflow.org/v1alpha1"}},
			Requests: []gpu.ResourceCount{{Resource: "nvidia.com/gpu", Count: gpu.Some[int64](8 * int64(len(pods)))}},
		}
	}
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf("train-%02d", i))
	}
	changed, ended := workloadChange(many...), workloadChange()
	changed.Previous, ended.Lasted = gpu.Some[int64](1), gpu.Some(90*time.Second)
	ended.Requests, ended.LastSeen = nil, timeAt(2)
	host := gpu.Host{ClusterName: "prod"}
	logs := newEvents(nil).Record(&host, []gpu.Event{
		{UID: "u1", Type: gpu.EventWorkloadStarted, Time: timeAt(1), Message: "TrainJob team/train started", Workload: workloadChange("train-00")},
		{UID: "u2", Type: gpu.EventWorkloadChanged, Time: timeAt(2), Message: "TrainJob team/train has 20 pods instead of 1", Workload: changed},
		{UID: "u3", Type: gpu.EventWorkloadEnded, Time: timeAt(3), Message: "TrainJob team/train has ended", Workload: ended},
	}, observed)
	compareLogs(t, "workload_events.yaml", logs)
	declared, err := otlptest.ReadDeclared("../../metadata.yaml")
	require.NoError(t, err)
	for _, record := range recordsOf(logs) {
		assert.Empty(t, declared.EventViolations(record.EventName(), record.Attributes()))
	}
}

func TestGoldenPodEvents(t *testing.T) {
	host := gpu.Host{ClusterName: "prod"}
	logs := newEvents(nil).Record(&host, podEvents(), observed)
	compareLogs(t, "pod_events.yaml", logs)
	declared, err := otlptest.ReadDeclared("../../metadata.yaml")
	require.NoError(t, err)
	for _, record := range recordsOf(logs) {
		assert.Empty(t, declared.EventViolations(record.EventName(), record.Attributes()))
	}
}

// An end that is a failure is an error, and what keeps work from going on a warning.
func TestSeverityOfPodEvents(t *testing.T) {
	host := gpu.Host{ClusterName: "prod"}
	severities := map[string]plog.SeverityNumber{}
	for _, record := range recordsOf(newEvents(nil).Record(&host, podEvents(), observed)) {
		severities[record.EventName()] = record.SeverityNumber()
	}
	const info, warning, failed = plog.SeverityNumberInfo, plog.SeverityNumberWarn, plog.SeverityNumberError
	assert.Equal(t, map[string]plog.SeverityNumber{
		"k8s.pod.gpu.created": info, "k8s.pod.gpu.pending": warning, "k8s.pod.gpu.snapshot": plog.SeverityNumberInfo, "k8s.pod.gpu.scheduled": info, "k8s.pod.gpu.phase": info, "k8s.pod.gpu.condition": info,
		"k8s.pod.gpu.restarted": failed, "k8s.pod.gpu.evicted": warning, "k8s.pod.gpu.finished": failed, "k8s.pod.gpu.deleted": warning,
	}, severities)
}

var observed = pcommon.NewTimestampFromTime(timeAt(30))

func TestGoldenEvents(t *testing.T) {
	host := fullNode().Host
	compareLogs(t, "events.yaml", newEvents(nil).Record(&host, allEvents(), observed))
}

func TestGoldenSourceEvents(t *testing.T) {
	host := fullNode().Host
	failure := &gpu.Failure{Reason: gpu.FailureDriver, Err: errors.New("nvml: initialise libnvidia-ml.so.1: driver not loaded; load the nvidia kernel module")}
	logs := newEvents(nil).Record(&host, []gpu.Event{
		{UID: "s1", Type: gpu.EventSourceFailed, Time: timeAt(1), Vendor: gpu.NVIDIA, Source: "nvml", Failure: failure, Message: "nvml cannot be read: " + failure.Error()},
		{UID: "s2", Type: gpu.EventSourceRecovered, Time: timeAt(2), Vendor: gpu.NVIDIA, Source: "nvml", Message: "nvml is readable again"},
	}, observed)
	compareLogs(t, "source_events.yaml", logs)
	declared, err := otlptest.ReadDeclared("../../metadata.yaml")
	require.NoError(t, err)
	for _, record := range recordsOf(logs) {
		assert.Empty(t, declared.EventViolations(record.EventName(), record.Attributes()))
	}
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
		{"hw.gpu.xid", 1, plog.SeverityNumberFatal, "XID 79 on nvidia0 (NVIDIA H100 80GB HBM3): the GPU has fallen off the bus; restart the node", attrs(
			"log.record.uid", "u1", "hw.id", gpuID, "hw.name", "nvidia0", "hw.model", "NVIDIA H100 80GB HBM3", "hw.vendor", "NVIDIA",
			"error.type", "79", "hw.gpu.xid", int64(79), "hw.gpu.xid_name", "ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS", "hw.gpu.recommended_action", "restart_bm",
			"hw.gpu.held_by", []any{"team/train-0/main"}, "hw.gpu.used_by", []any{}, "container.id", "c1", "k8s.container.name", "main",
			"k8s.namespace.name", "team", "k8s.pod.name", "train-0", "k8s.pod.uid", "p1", "k8s.workload.kind", "Deployment", "k8s.workload.name", "train")},
		{"hw.gpu.status", 2, plog.SeverityNumberError, "nvidia0 (NVIDIA H100 80GB HBM3) has failed, was ok: lost", attrs(
			"log.record.uid", "u2",
			"hw.id", gpuID, "hw.name", "nvidia0", "hw.model", "NVIDIA H100 80GB HBM3", "hw.vendor", "NVIDIA",
			"hw.state", "failed", "hw.gpu.previous_state", "ok", "hw.gpu.faults", []any{"lost"}, "hw.gpu.recovery.action", "reboot", "hw.gpu.recommended_action", "follow_recovery_action",
			"hw.gpu.held_by", []any{"team/train-0/main"}, "container.id", "c1", "k8s.container.name", "main", "k8s.namespace.name", "team",
			"k8s.pod.name", "train-0", "k8s.pod.uid", "p1", "k8s.workload.kind", "Deployment", "k8s.workload.name", "train")},
		{"hw.gpu.status", 3, plog.SeverityNumberWarn, amdID + " is predicted to fail", attrs("log.record.uid", "u3", "hw.id", amdID, "hw.vendor", "AMD", "hw.state", "predicted_failure")},
		{"hw.gpu.status", 4, plog.SeverityNumberInfo, amdID + " is ok, was predicted to fail for 1m30s", attrs(
			"log.record.uid", "u4", "hw.id", amdID, "hw.vendor", "AMD", "hw.state", "ok", "hw.gpu.previous_state", "predicted_failure",
			"hw.gpu.previous_state_duration", 90.0)},
		{"hw.gpu.xid", 20, plog.SeverityNumberWarn, "XID 999 on " + migID + ", 7 more in 15s", attrs(
			"log.record.uid", "u5", "hw.id", migID, "hw.parent", gpuID, "hw.vendor", "NVIDIA", "error.type", "999", "hw.gpu.xid", int64(999), "hw.gpu.event.count", int64(7),
			"hw.gpu.event.first_time", iso8601(timeAt(5)), "hw.gpu.event.last_time", iso8601(timeAt(20)), "hw.gpu.event.follows", "u1")},
	}
	for i, record := range records {
		assert.Equal(t, want[i].name, record.EventName())
		assert.Equal(t, timeAt(want[i].seconds), record.Timestamp().AsTime())
		assert.Equal(t, observed, record.ObservedTimestamp())
		assert.Equal(t, want[i].severity, record.SeverityNumber(), "%d", i)
		assert.Empty(t, record.SeverityText(), "the conventions define none")
		assert.Equal(t, want[i].body, record.Body().AsString())
		assert.Equal(t, want[i].attributes, record.Attributes().AsRaw())
	}
}

// An event that is recorded again has the same uid.
func TestEventRecordedAgain(t *testing.T) {
	host, recorder := gpu.Host{Name: "node-a"}, newEvents(nil)
	uids := func() (all []string) {
		for _, record := range recordsOf(recorder.Record(&host, allEvents(), observed)) {
			uid, _ := record.Attributes().Get("log.record.uid")
			all = append(all, uid.Str())
		}
		return all
	}
	for range 2 {
		assert.Equal(t, []string{"u1", "u2", "u3", "u4", "u5"}, uids())
	}
}

// The events of processes have the container of the process. They are disabled by default.
func TestProcessEvents(t *testing.T) {
	host := gpu.Host{Name: "node-a"}
	process := &gpu.Process{
		PID: 41, DeviceID: gpuID, Type: gpu.ProcessCompute, Created: timeAt(0), Executable: "python3", Command: "/usr/bin/python3",
		Container: &gpu.Container{ID: "c1", Name: "main", Namespace: "team", PodName: "train-0", PodUID: "u1"},
	}
	events := []gpu.Event{
		{Type: gpu.EventProcessStarted, Time: timeAt(1), DeviceID: gpuID, Vendor: gpu.NVIDIA, Process: process, Message: "python3 started"},
		{Type: gpu.EventProcessExited, Time: timeAt(2), DeviceID: gpuID, Vendor: gpu.NVIDIA, Process: &gpu.Process{PID: 42, DeviceID: gpuID}},
	}
	assert.Zero(t, newEvents(nil).Record(&host, events, observed).LogRecordCount(), "off by default")

	records := recordsOf(newEvents(func(c *metadata.LogsBuilderConfig) { enable(&c.Events, true) }).Record(&host, events, observed))
	require.Len(t, records, 2)
	_, exists := records[0].Attributes().Get("process.command")
	assert.False(t, exists, "it may contain secrets, and is off by default")

	records = recordsOf(newEvents(func(c *metadata.LogsBuilderConfig) {
		enable(&c.Events, true)
		c.ResourceAttributes.ProcessCommand.Enabled = true
	}).Record(&host, events, observed))
	require.Len(t, records, 2)
	assert.Equal(t, "process.gpu.started", records[0].EventName())
	assert.Equal(t, plog.SeverityNumberInfo, records[0].SeverityNumber())
	assert.Equal(t, "python3 started", records[0].Body().AsString())
	assert.Equal(t, attrs(
		"hw.id", gpuID, "hw.vendor", "NVIDIA", "process.pid", int64(41), "process.executable.name", "python3",
		"process.command", "/usr/bin/python3", "process.creation.time", iso8601(timeAt(0)), "process.gpu.type", "compute",
		"container.id", "c1", "k8s.container.name", "main", "k8s.namespace.name", "team", "k8s.pod.name", "train-0", "k8s.pod.uid", "u1",
	), records[0].Attributes().AsRaw())
	assert.Equal(t, "process.gpu.exited", records[1].EventName())
	assert.Equal(t, attrs("hw.id", gpuID, "hw.vendor", "NVIDIA", "process.pid", int64(42)), records[1].Attributes().AsRaw(), "what is not known has no attribute")
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
	assert.Equal(t, attrs("host.name", "node-a", "k8s.node.name", "node-a", "k8s.cluster.name", "prod", "k8s.node.label.pool", "gpu"),
		rl.Resource().Attributes().AsRaw(), "the same resource that the host's metrics have")
	assert.Equal(t, "https://opentelemetry.io/schemas/1.43.0", rl.SchemaUrl())
	assert.Equal(t, rl.SchemaUrl(), rl.ScopeLogs().At(0).SchemaUrl())
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
