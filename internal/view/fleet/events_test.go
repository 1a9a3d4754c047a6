// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// eventMessage returns the message that the receiver sends of events.
func eventMessage(host gpu.Host, observed time.Time, events ...gpu.Event) plog.Logs {
	cfg := metadata.DefaultLogsBuilderConfig()
	return record.NewEvents(cfg, receivertest.NewNopSettings(metadata.Type)).Record(&host, events, timestamp(observed))
}

func xid(code int64, eventTime time.Time) gpu.Event {
	return gpu.Event{Type: gpu.EventXID, Time: eventTime, DeviceID: "GPU-a-0", Vendor: gpu.NVIDIA, XID: code, Message: "XID 79"}
}

var onA = gpu.Host{Name: "a", NodeName: "a", ClusterName: "prod"}

// An event has what was sent.
func TestEvents(t *testing.T) {
	f, w := newTestFleet(Settings{})
	first := f.Snapshot().Generation
	f.ConsumeLogs(eventMessage(onA, w.now, xid(79, w.now.Add(-time.Second)), gpu.Event{
		Type: gpu.EventStatus, Time: w.now, DeviceID: "GPU-a-0", Vendor: gpu.NVIDIA, State: gpu.StateFailed, Previous: gpu.Some(gpu.StateOK), Message: "lost",
	}))
	events := f.Events()
	require.Len(t, events, 2)
	assert.Equal(t, "hw.gpu.status", events[0].Name, "the newest comes first")
	assert.Equal(t, "ERROR", events[0].Severity)
	assert.Equal(t, map[string]any{"hw.id": "GPU-a-0", "hw.vendor": "NVIDIA", "hw.state": "failed", "hw.gpu.previous_state": "ok"}, events[0].Attributes)
	e := events[1]
	assert.Equal(t, "hw.gpu.xid", e.Name)
	assert.Equal(t, "FATAL", e.Severity)
	assert.Equal(t, "XID 79", *e.Body)
	assert.Equal(t, "a", *e.Node)
	assert.Equal(t, "prod", *e.Cluster)
	assert.Equal(t, "GPU-a-0", *e.GPU)
	assert.Equal(t, w.now.Add(-time.Second), e.Time)
	assert.Equal(t, w.now, e.Observed)
	assert.Equal(t, int64(79), e.Attributes["hw.gpu.xid"])
	assert.Greater(t, f.Snapshot().Generation, first)
}

// Each event that the receiver can send is shown, with what it says.
func TestEveryEventOfTheReceiver(t *testing.T) {
	declared, err := otlptest.ReadDeclared("../../../metadata.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, declared.Events)
	files, err := filepath.Glob("../../record/testdata/*events.yaml")
	require.NoError(t, err)
	f, _ := newTestFleet(Settings{})
	for _, file := range files {
		logs, err := golden.ReadLogs(file)
		require.NoError(t, err)
		for i := range logs.ResourceLogs().Len() { // the files number their records alike
			for _, record := range logs.ResourceLogs().At(i).ScopeLogs().At(0).LogRecords().All() {
				record.Attributes().PutStr("log.record.uid", fmt.Sprint(file, record.Timestamp(), record.EventName()))
			}
		}
		f.ConsumeLogs(logs)
	}
	shown := map[string]bool{}
	for _, e := range f.Events() {
		shown[e.Name] = true
		assert.NotNil(t, e.Body, e.Name)
	}
	for name := range declared.Events {
		assert.True(t, shown[name], name)
	}
}

// An event that comes twice is shown once, with and without log.record.uid. Two events that differ are two.
func TestEventsThatComeTwice(t *testing.T) {
	f, w := newTestFleet(Settings{})
	message := eventMessage(onA, w.now, xid(79, w.now), xid(80, w.now))
	f.ConsumeLogs(message)
	generation := f.Snapshot().Generation
	f.ConsumeLogs(message)
	assert.Len(t, f.Events(), 2)
	assert.Equal(t, generation, f.Snapshot().Generation)
	elsewhere := onA
	elsewhere.NodeName = "b"
	f.ConsumeLogs(eventMessage(elsewhere, w.now, xid(79, w.now)))
	assert.Len(t, f.Events(), 3)

	for range 2 {
		named := eventMessage(onA, w.now, xid(81, w.now))
		record := named.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
		record.Attributes().PutStr("log.record.uid", "01ARZ3")
		record.SetTimestamp(record.Timestamp() + 1)
		f.ConsumeLogs(named)
		w.pass(time.Second)
	}
	require.Len(t, f.Events(), 4)
	assert.Equal(t, "01ARZ3", f.Events()[0].UID)
}

// The last events stay, each once.
func TestLastEvents(t *testing.T) {
	f, w := newTestFleet(Settings{MaxEvents: 10})
	for i := range 25 {
		f.ConsumeLogs(eventMessage(onA, w.now, xid(int64(i), w.now)))
	}
	events := f.Events()
	require.Len(t, events, 10)
	for i, e := range events {
		assert.Equal(t, int64(24-i), e.Attributes["hw.gpu.xid"])
	}
	assert.Len(t, f.events.known, 10)
	assert.Empty(t, New(Settings{}).Events())
}

// The event of a cluster has no node. Without a resource the attributes name the node.
func TestNodeOfAnEvent(t *testing.T) {
	f, w := newTestFleet(Settings{})
	failed := gpu.Event{Type: gpu.EventSourceFailed, Time: w.now, Source: "kubernetes_exec", Failure: &gpu.Failure{Reason: gpu.FailureAPIUnreachable}}
	f.ConsumeLogs(eventMessage(gpu.Host{ClusterName: "east"}, w.now, failed))
	message := eventMessage(gpu.Host{Name: "x"}, w.now, xid(1, w.now))
	message.ResourceLogs().At(0).Resource().Attributes().Clear()
	message.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes().PutStr("host.name", "b")
	f.ConsumeLogs(message)
	events := f.Events()
	assert.Equal(t, "b", *events[0].Node)
	assert.Nil(t, events[0].Cluster)
	assert.Nil(t, events[1].Node)
	assert.Equal(t, "east", *events[1].Cluster)
	assert.Nil(t, events[1].GPU)
}

// Log records of other senders are not events, and the content of a record is bounded and can be written as JSON.
func TestForeignAndHostileRecords(t *testing.T) {
	f, w := newTestFleet(Settings{})
	logs := plog.NewLogs()
	records := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	records.AppendEmpty().Body().SetStr("a line of some program")
	records.AppendEmpty().SetEventName("k8s.event")
	hostile := records.AppendEmpty()
	hostile.SetEventName("hw.gpu.xid")
	hostile.SetSeverityNumber(99)
	hostile.Body().SetStr(strings.Repeat("ä", 10_000) + "\xff")
	hostile.Attributes().PutDouble("nan", nan)
	hostile.Attributes().PutStr("\xff", "\xff")
	hostile.Attributes().PutEmptySlice("slice").AppendEmpty().SetStr(strings.Repeat("x", 10_000))
	for i := range 100 {
		hostile.Attributes().PutBool(fmt.Sprint("b", i), true)
	}
	f.ConsumeLogs(logs)
	events := f.Events()
	require.Len(t, events, 1)
	assert.Equal(t, uint64(2), f.state.dropped.counts[dropForeign])
	assert.Equal(t, "UNSPECIFIED", events[0].Severity)
	assert.Equal(t, w.now, events[0].Time)
	assert.Equal(t, w.now, events[0].Observed)
	encoded, err := json.Marshal(events)
	require.NoError(t, err)
	assert.Less(t, len(encoded), 4*maxEventText)
}

// The records of use are shown, with all that a bill needs.
func TestUseIsShown(t *testing.T) {
	f, w := newTestFleet(Settings{})
	container := &gpu.Container{
		Namespace: "team", PodName: "train-0", PodUID: "u", Name: "main", ID: "c", Owners: []gpu.Owner{{Kind: "Deployment", Name: "train"}},
		Labels: map[string]string{"k8s.pod.label.team": "vision"},
	}
	f.ConsumeLogs(eventMessage(onA, w.now, gpu.Event{
		UID: "u1", Type: gpu.EventReleased, Time: w.now, DeviceID: "MIG-a-0", Parent: "GPU-a-0", Name: "nvidia0", Model: "H100", Profile: "3g.40gb", Vendor: gpu.NVIDIA,
		Holder: &gpu.Holder{Container: container, Resource: "nvidia.com/mig-3g.40gb"},
		Use: &gpu.Use{
			Start: w.now.Add(-time.Hour), StartKnown: true, End: w.now, EndKnown: true, GPUTime: gpu.Some(3600.0), BusyTime: gpu.Some(1800.0),
			IdleTime: gpu.Some(1770.0), Energy: gpu.Some(1e6), MemoryPeak: gpu.Some(int64(2)), MemoryMean: gpu.Some(int64(1)),
		},
	}))
	events := f.Events()
	require.Len(t, events, 1)
	assert.Equal(t, "container.gpu.released", events[0].Name)
	assert.Equal(t, "team/train-0/main released nvidia0 (H100 3g.40gb) after 1h0m0s, busy for 30m0s", *events[0].Body)
	assert.Equal(t, "MIG-a-0", *events[0].GPU)
	for name, want := range map[string]any{
		"hw.gpu.use.gpu_time": 3600.0, "hw.gpu.use.energy": 1e6, "hw.gpu.use.memory_mean": int64(1), "hw.gpu.use.end_known": true,
		"k8s.workload.name": "train", "k8s.pod.label.team": "vision",
	} {
		assert.Equal(t, want, events[0].Attributes[name], name)
	}
}
