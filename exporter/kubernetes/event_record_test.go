// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// newRecord returns a record of noon.
func newRecord(name string, severity plog.SeverityNumber, body string, attributes map[string]any) plog.LogRecord {
	record := plog.NewLogRecord()
	record.SetEventName(name)
	record.SetSeverityNumber(severity)
	record.SetTimestamp(pcommon.NewTimestampFromTime(noon))
	record.Body().SetStr(body)
	if err := record.Attributes().FromRaw(attributes); err != nil {
		panic(err)
	}
	return record
}

// knownPods has two pods.
func knownPods(t *testing.T) *podUIDs {
	t.Helper()
	pods := newPodUIDs()
	for name, uid := range map[string]string{"train-0": "0f8a5c1e-6b0d-4b51-9c43-0a4c1f2f7f11", "train-1": "1f8a5c1e-6b0d-4b51-9c43-0a4c1f2f7f11"} {
		resource := pcommon.NewMap()
		require.NoError(t, resource.FromRaw(map[string]any{"k8s.namespace.name": "team", "k8s.pod.name": name, "k8s.pod.uid": uid}))
		pods.learn(resource)
	}
	return pods
}

func TestEventsOfXID(t *testing.T) {
	record := newRecord("hw.gpu.xid", plog.SeverityNumberFatal, "XID 79 on nvidia0: the GPU has fallen off the bus", map[string]any{
		"log.record.uid": "01a20579-8277-7549-a388-a42a763f5682", "hw.id": "GPU-1",
		"hw.gpu.held_by": []any{"team/train-0/main", "team/train-0/side", "team/unknown/main", "17", "a/b", "Not/A/Pod", "x/../y"},
		"hw.gpu.used_by": []any{"team/train-1/main", "team/train-0/main"},
	})
	events := eventsOf("node-a", record, knownPods(t), noon.Add(time.Second))
	require.Len(t, events, 4)
	assert.Equal(t, corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "node-a", UID: "node-a"}, events[0].InvolvedObject)
	assert.Equal(t, "default", events[0].Namespace)
	for i, want := range []struct {
		name string
		uid  types.UID
	}{{"train-0", "0f8a5c1e-6b0d-4b51-9c43-0a4c1f2f7f11"}, {"train-1", "1f8a5c1e-6b0d-4b51-9c43-0a4c1f2f7f11"}, {"unknown", ""}} {
		assert.Equal(t, corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "team", Name: want.name, UID: want.uid}, events[i+1].InvolvedObject)
		assert.Equal(t, "team", events[i+1].Namespace)
	}
	names := map[string]bool{}
	for _, event := range events {
		assert.Equal(t, "GPUXid", event.Reason)
		assert.Equal(t, corev1.EventTypeWarning, event.Type)
		assert.Equal(t, "XID 79 on nvidia0: the GPU has fallen off the bus", event.Message)
		assert.Equal(t, corev1.EventSource{Component: "gpureceiver", Host: "node-a"}, event.Source)
		assert.True(t, event.FirstTimestamp.Time.Equal(noon))
		names[event.Name] = true
	}
	assert.Len(t, names, 4)

	again := eventsOf("node-a", record, knownPods(t), noon.Add(time.Minute))
	for i := range again {
		assert.Equal(t, events[i].Name, again[i].Name, "the same record")
	}
	record.Attributes().PutStr("log.record.uid", "01a20579-8277-7549-a388-a42a763f5683")
	assert.NotEqual(t, events[0].Name, eventsOf("node-a", record, knownPods(t), noon)[0].Name)
}

// The attributes of the only container know its pod best.
func TestEventsOfTheOnlyContainer(t *testing.T) {
	events := eventsOf("node-a", newRecord("hw.gpu.status", plog.SeverityNumberError, "GPU is lost", map[string]any{
		"hw.state": "failed", "hw.gpu.held_by": []any{"team/train-0/main"},
		"k8s.namespace.name": "team", "k8s.pod.name": "train-0", "k8s.pod.uid": "2f8a5c1e-6b0d-4b51-9c43-0a4c1f2f7f11",
	}), knownPods(t), noon)
	require.Len(t, events, 2)
	assert.Equal(t, types.UID("2f8a5c1e-6b0d-4b51-9c43-0a4c1f2f7f11"), events[1].InvolvedObject.UID)
}

func TestReasons(t *testing.T) {
	for _, c := range []struct {
		name, state  string
		severity     plog.SeverityNumber
		reason, kind string
	}{
		{"hw.gpu.status", "failed", plog.SeverityNumberError, "GPUFailed", "Warning"},
		{"hw.gpu.status", "degraded", plog.SeverityNumberWarn, "GPUDegraded", "Warning"},
		{"hw.gpu.status", "predicted_failure", plog.SeverityNumberWarn, "GPUFailurePredicted", "Warning"},
		{"hw.gpu.status", "ok", plog.SeverityNumberInfo, "GPURecovered", "Normal"},
		{"hw.gpu.status", "of another version", plog.SeverityNumberWarn, "", ""},
		{"hw.gpu.xid", "", plog.SeverityNumberError, "GPUXid", "Warning"},
		{"hw.gpu.xid", "", plog.SeverityNumberInfo, "", ""},
		{"hw.gpu.source.failed", "", plog.SeverityNumberWarn, "GPUSourceFailed", "Warning"},
		{"hw.gpu.source.recovered", "", plog.SeverityNumberInfo, "GPUSourceRecovered", "Normal"},
		{"hw.gpu.memory.bad_page", "", plog.SeverityNumberWarn, "GPUMemoryBadPage", "Warning"},
		{"process.gpu.exited", "", plog.SeverityNumberInfo, "", ""},
		{"k8s.pod.gpu.phase", "", plog.SeverityNumberError, "", ""},
		{"", "", plog.SeverityNumberError, "", ""},
	} {
		events := eventsOf("node-a", newRecord(c.name, c.severity, "text", map[string]any{"hw.state": c.state}), newPodUIDs(), noon)
		if c.reason == "" {
			assert.Empty(t, events, c)
			continue
		}
		require.Len(t, events, 1, c)
		assert.Equal(t, c.reason, events[0].Reason)
		assert.Equal(t, c.kind, events[0].Type)
	}
}

// Texts of others are one line of bounded length, an old record produces no Event, and a clock that is ahead does not create Events in the
// future.
func TestEventsAreBounded(t *testing.T) {
	long := newRecord("hw.gpu.xid", plog.SeverityNumberError, "\x1b[31m a\nb\xff"+strings.Repeat("ä", 2000), nil)
	node := strings.Repeat("a", 253)
	events := eventsOf(node, long, newPodUIDs(), noon.Add(-time.Minute))
	require.Len(t, events, 1)
	assert.True(t, strings.HasPrefix(events[0].Message, " a b�ä"), events[0].Message)
	assert.LessOrEqual(t, len(events[0].Message), maxMessage)
	assert.LessOrEqual(t, len(events[0].Name), 253)
	assert.True(t, events[0].LastTimestamp.Time.Equal(noon.Add(-time.Minute)))

	assert.Empty(t, eventsOf("node-a", long, newPodUIDs(), noon.Add(2*time.Hour)))
	long.SetTimestamp(0)
	assert.Empty(t, eventsOf("node-a", long, newPodUIDs(), noon), "of no time")
	long.SetObservedTimestamp(pcommon.NewTimestampFromTime(noon))
	assert.Len(t, eventsOf("node-a", long, newPodUIDs(), noon), 1)

	many := make([]any, 40)
	for i := range many {
		many[i] = "team/pod-" + strings.Repeat("a", i+1) + "/main"
	}
	assert.Len(t, eventsOf("node-a", newRecord("hw.gpu.xid", plog.SeverityNumberError, "x", map[string]any{"hw.gpu.held_by": many}), newPodUIDs(), noon), 17)
}

func FuzzEventsOf(f *testing.F) {
	f.Add("hw.gpu.status", "failed", "body", "team/train-0/main", "uid", 17)
	f.Add("hw.gpu.xid.é", "", "\xff\x00", "//", "", 9)
	f.Fuzz(func(t *testing.T, name, state, body, holder, uid string, severity int) {
		record := newRecord(name, plog.SeverityNumber(severity), body, map[string]any{
			"hw.state": state, "hw.gpu.held_by": []any{holder}, "log.record.uid": uid, "k8s.pod.uid": uid, "k8s.pod.name": holder,
		})
		for _, event := range eventsOf("node-a", record, newPodUIDs(), noon) {
			assert.NotEmpty(t, event.Reason)
			assert.LessOrEqual(t, len(event.Reason), maxReason)
			assert.LessOrEqual(t, len(event.Message), maxMessage)
			assert.NotContains(t, event.Message, "\x1b")
			assert.NotEmpty(t, event.InvolvedObject.Name)
		}
	})
}
