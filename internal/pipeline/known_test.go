// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// restart returns a pipeline that goes on with what another one knows, which is written as JSON and read again.
func restart(t *testing.T, p *Pipeline) *Pipeline {
	t.Helper()
	var known *Known
	if p != nil {
		stored, _, _ := p.Checkpoint(&gpu.Host{})
		data, err := json.Marshal(stored)
		require.NoError(t, err)
		known = &Known{}
		require.NoError(t, json.Unmarshal(data, known))
	}
	return New(Options{
		Source: "nvml", Logger: zap.NewNop(), Events: true, AllocationEvents: true, Keep: true, Known: known, Interval: 10 * time.Second,
		EventRecorder: record.NewEvents(metadata.LogsBuilderConfig{Events: metadata.DefaultEventsConfig()}, receivertest.NewNopSettings(metadata.Type)),
	})
}

// readsOf has a pipeline take devices at a time in seconds, and returns the events.
func readsOf(t *testing.T, p *Pipeline, seconds int64, devices ...gpu.Device) []gpu.Event {
	t.Helper()
	p.Take(t.Context(), &gpu.Node{Vendor: gpu.NVIDIA, Time: time.Unix(seconds, 0), Devices: devices})
	return p.TakeEvents()
}

func TestStatesAreRestored(t *testing.T) {
	p := restart(t, nil)
	require.Empty(t, readsOf(t, p, 0, healthy("GPU-1"), healthy("GPU-2")))
	require.Len(t, readsOf(t, p, 10, healthy("GPU-1"), lost("GPU-2")), 1)
	require.Empty(t, readsOf(t, p, 20, healthy("GPU-1"), lost("GPU-2")))

	same := restart(t, p)
	require.Empty(t, readsOf(t, same, 100, healthy("GPU-1"), lost("GPU-2")), "it was known")
	events := readsOf(t, same, 110, healthy("GPU-1"), healthy("GPU-2"))
	require.Len(t, events, 1)
	assert.Equal(t, gpu.Some(100*time.Second), events[0].Lasted, "since before the restart")
	assert.True(t, events[0].LastSeen.IsZero(), "this process has seen the end")

	changed := restart(t, p)
	events = readsOf(t, changed, 100, lost("GPU-1"), healthy("GPU-2"))
	require.Len(t, events, 2)
	assert.Equal(t, gpu.Some(gpu.StateOK), events[0].Previous)
	assert.False(t, events[0].Lasted.Known(), "it began before the first read")
	assert.Equal(t, gpu.Some(gpu.StateFailed), events[1].Previous)
	assert.Equal(t, gpu.Some(10*time.Second), events[1].Lasted, "as far as it was seen")
	for _, e := range events {
		assert.Equal(t, time.Unix(20, 0).UTC(), e.LastSeen.UTC())
	}

	twice := restart(t, restart(t, p))
	events = readsOf(t, twice, 100, healthy("GPU-1"), healthy("GPU-2"))
	require.Len(t, events, 1, "killed before its first read")
	assert.Equal(t, gpu.Some(10*time.Second), events[0].Lasted)

	unread := lost("GPU-2")
	unread.Unread = true
	late := restart(t, p)
	require.Empty(t, readsOf(t, late, 100, healthy("GPU-1"), unread))
	events = readsOf(t, restart(t, late), 200, healthy("GPU-1"), healthy("GPU-2"))
	require.Len(t, events, 1)
	assert.Equal(t, time.Unix(20, 0).UTC(), events[0].LastSeen.UTC(), "it was not read since")
}

// A first read without devices has taken place all the same: what comes later is new since then.
func TestNoDevicesAreRestored(t *testing.T) {
	p := restart(t, nil)
	require.Empty(t, readsOf(t, p, 0))
	p = restart(t, p)
	require.Len(t, readsOf(t, p, 10, lost("GPU-1")), 1)
	events := readsOf(t, p, 30, healthy("GPU-1"))
	require.Len(t, events, 1)
	assert.Equal(t, gpu.Some(20*time.Second), events[0].Lasted)
}

// What is throttled, and what is allocated, is known after a restart.
func TestThrottlingAndUseAreRestored(t *testing.T) {
	read := func(p *Pipeline, seconds int, reasons ...gpu.ThrottleReason) (kinds []gpu.EventType) {
		node := throttledNode(seconds, reasons...)
		node.Devices[0].HoldersComplete = true
		node.Containers = []gpu.ContainerUse{{Container: &gpu.Container{PodName: "train-0"}, DeviceID: "GPU-1", Allocated: gpu.Some(true)}}
		p.Take(t.Context(), node)
		for _, e := range p.TakeEvents() {
			kinds = append(kinds, e.Type)
		}
		return kinds
	}
	p := restart(t, nil)
	require.Equal(t, []gpu.EventType{gpu.EventThrottledStarted, gpu.EventAllocated}, read(p, 0, gpu.ThrottleHWThermal))
	p = restart(t, p)
	assert.Empty(t, read(p, 10, gpu.ThrottleHWThermal), "both were known")
	assert.Equal(t, []gpu.EventType{gpu.EventThrottledEnded}, read(restart(t, p), 20))
}

// The numbers are stored: if one changes, an updated collector misinterprets it.
func TestNumbersThatAreStored(t *testing.T) {
	numbers, err := json.Marshal([]any{
		gpu.StateOK, gpu.StateDegraded, gpu.StateFailed, gpu.StatePredictedFailure,
		gpu.FailureOther, gpu.FailureToolMissing, gpu.FailureContainerMissing,
		gpu.SharingExclusive, gpu.SharingReplicas, gpu.ProcessCompute, gpu.ProcessMPS,
		gpu.ThrottleSWPowerCap, gpu.ThrottleHWSlowdown, gpu.ThrottleHWPowerBrake, gpu.ThrottleThermalExtern, gpu.ThrottleFirmwareReason,
	})
	require.NoError(t, err)
	assert.JSONEq(t, `[0,1,2,3, 0,1,12, 0,4, 1,4, 0,1,5,11,12]`, string(numbers), "raise the version of internal/checkpoint")
}

func TestFailuresAreRestored(t *testing.T) {
	failed := func(p *Pipeline) []gpu.Event {
		p.Failed(gpu.Host{}, gpu.NVIDIA, time.Unix(10, 0), &gpu.Failure{Reason: gpu.FailureDriver, Err: errors.New("no driver")})
		return p.TakeEvents()
	}
	p := restart(t, nil)
	require.Len(t, failed(p), 1)
	assert.Empty(t, failed(restart(t, p)), "it was known")
	events := readsOf(t, restart(t, p), 20)
	require.Len(t, events, 1)
	assert.Equal(t, gpu.EventSourceRecovered, events[0].Type)
}

// What a Checkpoint knows is what the events led to that it has taken, and those before.
func TestCheckpointIsOfItsEvents(t *testing.T) {
	p := restart(t, nil)
	known, _, logs := p.Checkpoint(&gpu.Host{})
	assert.Equal(t, &Known{}, known, "before the first read")
	assert.Zero(t, logs.LogRecordCount())
	p.Take(t.Context(), &gpu.Node{Time: time.Unix(0, 0), Devices: []gpu.Device{lost("GPU-1")}})
	known, open, logs := p.Checkpoint(&gpu.Host{})
	assert.Equal(t, gpu.StateFailed, known.States["GPU-1"].State)
	assert.Equal(t, 1, logs.LogRecordCount())
	assert.Zero(t, open.LogRecordCount())
	_, _, logs = p.Checkpoint(&gpu.Host{})
	assert.Zero(t, logs.LogRecordCount(), "taken")
}

// XIDs that are summed are in each Checkpoint until their sum is complete.
func TestOpenSums(t *testing.T) {
	p := restart(t, nil)
	xid := func() {
		p.AddEvents([]gpu.Event{{Type: gpu.EventXID, Time: time.Unix(1, 0), DeviceID: "GPU-1", XID: 31}})
	}
	xid()
	_, open, logs := p.Checkpoint(&gpu.Host{})
	assert.Equal(t, []int{0, 1}, []int{open.LogRecordCount(), logs.LogRecordCount()})
	xid()
	xid()
	for range 2 {
		_, open, logs = p.Checkpoint(&gpu.Host{})
		assert.Equal(t, []int{1, 0}, []int{open.LogRecordCount(), logs.LogRecordCount()})
		assert.EqualValues(t, 2, countOf(open))
	}
	_, logs = p.LastCheckpoint(&gpu.Host{})
	assert.EqualValues(t, 2, countOf(logs))
}

func countOf(logs plog.Logs) int64 {
	count, _ := logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes().Get("hw.gpu.event.count")
	return count.Int()
}

// Stored data of another version of the receiver does not cause a failure.
func TestUnknownStatesAreNotRestored(t *testing.T) {
	p := New(Options{
		Logger: zap.NewNop(), Events: true,
		Known: &Known{States: map[string]KnownState{"GPU-1": {State: gpu.NumStates}}, Failure: &KnownFailure{Reason: gpu.NumFailureReasons}},
	})
	assert.Empty(t, p.states.last)
	assert.Nil(t, p.sources.last)
}

// A GPU that was lost over a restart is not in the nodes of the next process. Its recovery is sent when it is there again.
func TestRecoveryAfterARestart(t *testing.T) {
	p := restart(t, nil)
	require.Empty(t, readsOf(t, p, 0, healthy("GPU-1"), healthy("GPU-2")))
	require.Len(t, readsOf(t, p, 10, healthy("GPU-1"), lost("GPU-2")), 1)

	p = restart(t, p)
	require.Empty(t, readsOf(t, p, 100, healthy("GPU-1")))
	require.Empty(t, readsOf(t, p, 110, healthy("GPU-1")))
	p = restart(t, p)
	require.Empty(t, readsOf(t, p, 200, healthy("GPU-1")))
	events := readsOf(t, p, 210, healthy("GPU-1"), healthy("GPU-2"))
	require.Len(t, events, 1)
	assert.Equal(t, "GPU-2", events[0].DeviceID)
	assert.Equal(t, gpu.StateOK, events[0].State)
	assert.Equal(t, gpu.Some(gpu.StateFailed), events[0].Previous)
	assert.Equal(t, time.Unix(10, 0).UTC(), events[0].LastSeen.UTC())
	events = readsOf(t, p, 300, healthy("GPU-1"), lost("GPU-2"))
	require.Len(t, events, 1)
	assert.Equal(t, gpu.Some(90*time.Second), events[0].Lasted)
}

// Throttling of a GPU that was lost over a restart ends when it is there again.
func TestThrottlingEndRemovedGPU(t *testing.T) {
	kinds := func(p *Pipeline, node *gpu.Node) (kinds []gpu.EventType) {
		p.Take(t.Context(), node)
		for _, e := range p.TakeEvents() {
			kinds = append(kinds, e.Type)
		}
		return kinds
	}
	without := func(seconds int) *gpu.Node {
		node := nodeOf(healthy("GPU-2"))
		node.Time = time.Unix(int64(seconds), 0)
		return node
	}
	p := restart(t, nil)
	require.Equal(t, []gpu.EventType{gpu.EventThrottledStarted}, kinds(p, throttledNode(0, gpu.ThrottleHWThermal)))
	p = restart(t, p)
	require.Empty(t, kinds(p, without(10)))
	p = restart(t, p)
	require.Empty(t, kinds(p, without(20)))
	assert.Equal(t, []gpu.EventType{gpu.EventThrottledEnded}, kinds(p, throttledNode(30)))
	require.Empty(t, kinds(p, without(40)))
	assert.Empty(t, p.throttle.known())
}
