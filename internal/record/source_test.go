// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// A source that cannot be read is data: 0 with the reason. Each reason that it has had is 0 from the next good read on.
func TestSourceState(t *testing.T) {
	r := New(everything(), newSettings())
	timeout := &gpu.Failure{Reason: gpu.FailureTimeout, Err: errors.New("no answer")}
	missing := &gpu.Failure{Reason: gpu.FailureToolMissing, Err: errors.New("no such file")}
	now := readAt
	for i, step := range []struct {
		failure  *gpu.Failure
		readable float64
		reasons  map[string]float64
	}{
		{nil, 1, map[string]float64{}},
		{timeout, 0, map[string]float64{"timeout": 1}},
		{missing, 0, map[string]float64{"timeout": 0, "tool_missing": 1}},
		{nil, 1, map[string]float64{"timeout": 0, "tool_missing": 0}},
	} {
		now = now.Add(time.Minute)
		node := &gpu.Node{
			Host: gpu.Host{NodeName: "node-a", ClusterName: "prod"}, Source: "nvidia_smi", Vendor: gpu.NVIDIA, Time: now, Failure: step.failure,
		}
		points := otlptest.Points(r.Record(node))
		readable := otlptest.Of(points, "hw.gpu.source.readable")
		require.Len(t, readable, 1, i)
		assert.InDelta(t, step.readable, readable[0].Value, 0, i)
		assert.Equal(t, attrs("hw.gpu.source.name", "nvidia_smi", "hw.vendor", "NVIDIA", "k8s.node.name", "node-a", "k8s.cluster.name", "prod"),
			readable[0].Attributes, "a back end that drops resources keeps nodes and clusters apart")
		reasons := map[string]float64{}
		for _, p := range otlptest.Of(points, "hw.gpu.source.failure") {
			reasons[p.Attributes["error.type"].(string)] = p.Value
		}
		assert.Equal(t, step.reasons, reasons, i)
	}
}

func TestSourceEvents(t *testing.T) {
	host := gpu.Host{Name: "node-a"}
	failure := &gpu.Failure{Reason: gpu.FailureToolMissing, Err: errors.New("no such file")}
	records := recordsOf(newEvents(nil).Record(&host, []gpu.Event{
		{Type: gpu.EventSourceFailed, Time: timeAt(1), Vendor: gpu.NVIDIA, Source: "nvidia_smi", Failure: failure, Message: "nvidia_smi cannot be read: no such file"},
		{Type: gpu.EventSourceRecovered, Time: timeAt(2), Vendor: gpu.NVIDIA, Source: "nvidia_smi", Message: "nvidia_smi is readable again"},
	}, observed))
	require.Len(t, records, 2)
	assert.Equal(t, "hw.gpu.source.failed", records[0].EventName())
	assert.Equal(t, "hw.gpu.source.recovered", records[1].EventName())
	assert.Equal(t, plog.SeverityNumberWarn, records[0].SeverityNumber())
	assert.Equal(t, "nvidia_smi cannot be read: no such file", records[0].Body().AsString())
	assert.Equal(t, attrs("hw.gpu.source.name", "nvidia_smi", "hw.vendor", "NVIDIA", "error.type", "tool_missing"), records[0].Attributes().AsRaw())
	assert.Equal(t, plog.SeverityNumberInfo, records[1].SeverityNumber())
	assert.Equal(t, attrs("hw.gpu.source.name", "nvidia_smi", "hw.vendor", "NVIDIA"), records[1].Attributes().AsRaw())
}

// A device that could not be read has its identity and no state.
func TestUnreadDevice(t *testing.T) {
	node := fullNode()
	d := node.Devices[0]
	node.Devices = []gpu.Device{{
		ID: d.ID, Name: d.Name, Model: d.Model, Vendor: d.Vendor, Info: d.Info, HoldersKnown: true, Holders: d.Holders, ProcessesUnread: true, Unread: true,
	}}
	var names []string
	for _, p := range otlptest.Points(New(everything(), newSettings()).Record(node)) {
		if p.Attributes["hw.id"] == d.ID && strings.HasPrefix(p.Metric, "hw.") {
			names = append(names, p.Metric)
		}
	}
	slices.Sort(names)
	assert.Equal(t, []string{"hw.gpu.allocated", "hw.gpu.board.info", "hw.gpu.info"}, slices.Compact(names))
}
