// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/device"
)

// XIDs are counted by number and are events, also of a GPU that is gone when they are read.
func TestXIDs(t *testing.T) {
	b := start(t, "gpus = 2\ntime = manual")
	n := b.read()
	ident := gpuAt(t, n, 1)
	id, name, model := ident.ID, ident.Name, ident.Model
	assert.Empty(t, n.Events)

	const first = "[event a]\ngpu = 1\nxid = 48\n[event b]\ngpu = 1\nxid = 13\n[event c]\ngpu = 1\nxid = 48\n"
	b.schedule(10, first)
	require.Eventually(t, func() bool { b.fetchSamples(); return b.queued() == 3 }, time.Minute, 5*time.Millisecond)
	n = b.read()
	require.Len(t, n.Events, 3)
	for _, e := range n.Events {
		assert.Equal(t, gpu.Event{
			Type: gpu.EventXID, Time: b.clock, DeviceID: id, Name: name, Model: model, Vendor: gpu.NVIDIA, XID: e.XID,
		}, e)
	}
	assert.Equal(t, map[int64]int64{13: 1, 48: 2}, xidTotals(t, gpuAt(t, n, 1)))
	assert.Empty(t, xidTotals(t, gpuAt(t, n, 0)))

	b.schedule(20, first+"[fault f]\ngpu = 1\nkind = lost\n[event d]\ngpu = 1\nxid = 79")
	require.Eventually(t, func() bool { b.fetchSamples(); return b.queued() == 1 }, time.Minute, 5*time.Millisecond)
	n = b.read()
	failed(t, n, 1, gpu.FaultLost)
	require.Len(t, n.Events, 1, "each is handed out once")
	assert.Equal(t, id, n.Events[0].DeviceID)
	assert.Equal(t, int64(79), n.Events[0].XID)
	assert.Equal(t, map[int64]int64{13: 1, 48: 2, 79: 1}, xidTotals(t, gpuAt(t, n, 1)))
	assert.Empty(t, b.read().Events)
}

// An XID of a MIG instance is an event of the instance, and counts there alone. One of an instance that is not known is the GPU's.
func TestXIDsOfInstances(t *testing.T) {
	b := start(t, partitioned)
	n := b.read()
	parent := gpuAt(t, n, 0).ID
	instance := child(t, n, parent, 3).ID
	b.schedule(10, "[event a]\ngpu = 0\nmig = 3\nxid = 31\n[event b]\ngpu = 0\nxid = 48\n[mig 0 4]\nprofile = 1g.10gb\ngi = 11\nci = 0\n"+
		"[event c]\ngpu = 0\nmig = 4\nxid = 13")
	require.Eventually(t, func() bool { b.fetchSamples(); return b.queued() == 3 }, time.Minute, 5*time.Millisecond)
	n = b.read()
	got := map[int64][2]string{}
	for _, e := range n.Events {
		got[e.XID] = [2]string{e.DeviceID, e.Parent}
		if e.XID == 31 {
			assert.Equal(t, "nvidia0/gi5/ci1", e.Name)
		}
	}
	assert.Equal(t, map[int64][2]string{31: {instance, parent}, 48: {parent, ""}, 13: {parent, ""}}, got)
	assert.Equal(t, map[int64]int64{13: 1, 48: 1}, xidTotals(t, gpuAt(t, n, 0)))
	assert.Equal(t, map[int64]int64{31: 1}, xidTotals(t, child(t, n, parent, 3)))

	// They stay while the GPU is lost, and while the partitioning changes.
	b.schedule(20, "[fault f]\ngpu = 0\nkind = lost")
	assert.Equal(t, map[int64]int64{31: 1}, xidTotals(t, child(t, b.read(), parent, 3)))
	b.schedule(30, "[gpu 0]\nmig = 0")
	b.read()
	b.schedule(40, "")
	require.Eventually(t, func() bool {
		n = b.read()
		return len(n.Devices) > 1
	}, time.Minute, time.Millisecond)
	assert.Equal(t, map[int64]int64{31: 1}, xidTotals(t, child(t, n, parent, 3)))
	assert.Equal(t, map[int64]int64{13: 1, 48: 1}, xidTotals(t, gpuAt(t, n, 0)))
}

// XIDs of more instances than a GPU can have at a time count for the GPU.
func TestXIDsOfManyInstances(t *testing.T) {
	c := xidCounts{byInstance: map[string]numbered{}}
	for i := range maxCountedInstances + 3 {
		c.add(31, &device.Identity{ID: strconv.Itoa(i)})
	}
	c.add(31, &device.Identity{ID: "0"})
	assert.Len(t, c.byInstance, maxCountedInstances)
	assert.Equal(t, numbered{{31, 2}}, c.byInstance["0"])
	assert.Equal(t, numbered{{31, 3}}, c.own)
}

// More XIDs than fit between two reads are one event, so that the events agree with the counter. What has no event of its code is counted.
func TestMoreXIDsThanAreKept(t *testing.T) {
	var x xids
	start := time.Unix(100, 0)
	for i := range maxEvents + 50 {
		x.keep(gpu.Event{Type: gpu.EventXID, DeviceID: "a", XID: int64(i % 2), Time: start.Add(time.Duration(i) * time.Second)})
	}
	x.keep(gpu.Event{Type: gpu.EventXID, DeviceID: "b", XID: 1})
	assert.Equal(t, 1, x.takeDropped())
	assert.Zero(t, x.takeDropped())
	total := int64(0)
	events := x.take()
	require.Len(t, events, maxEvents)
	for _, e := range events {
		total += max(e.Count, 1)
	}
	assert.EqualValues(t, maxEvents+50, total)
	last := events[maxEvents-1]
	assert.EqualValues(t, 26, last.Count)
	assert.Equal(t, start.Add((maxEvents-1)*time.Second), last.First)
	assert.Equal(t, start.Add((maxEvents+49)*time.Second), last.Time)
}

// A GPU whose XIDs the driver refused to queue once is registered later.
func TestXIDsWatchedLater(t *testing.T) {
	for _, function := range []string{"nvmlDeviceGetSupportedEventTypes", "nvmlDeviceRegisterEvents"} {
		t.Run(function, func(t *testing.T) {
			b := start(t, "gpus = 2\n[fault f]\ngpu = 1\nfunction = "+function+"\nreturn = UNKNOWN")
			n := b.read()
			healthy(t, n, 2)
			n = b.read()
			require.Len(t, n.Problems, 1)
			assert.Contains(t, n.Problems[0].What, "events")
			b.set("[fault f]\npresent = false")
			require.Eventually(t, func() bool { return len(b.read().Problems) == 0 }, time.Minute, time.Millisecond)
			b.set("[event a]\ngpu = 1\nxid = 48")
			require.Eventually(t, func() bool { b.fetchSamples(); return b.queued() == 1 }, time.Minute, 5*time.Millisecond)
			n = b.read()
			require.Len(t, n.Events, 1)
			assert.Equal(t, gpuAt(t, n, 1).ID, n.Events[0].DeviceID)
			assert.EqualValues(t, 48, n.Events[0].XID)
		})
	}
}

// A set of events that the driver refused to create once is created later.
func TestXIDQueueCreatedLater(t *testing.T) {
	b := start(t, "gpus = 2\n[fault f]\nfunction = nvmlEventSetCreate\nreturn = UNKNOWN")
	healthy(t, b.read(), 2)
	b.set("[fault f]\npresent = false\n[event a]\ngpu = 1\nxid = 48")
	require.Eventually(t, func() bool { return len(b.read().Events) == 1 }, time.Minute, 5*time.Millisecond)
}

func (b *bench) queued() int {
	b.xids.mu.Lock()
	defer b.xids.mu.Unlock()
	return len(b.xids.queue)
}

func xidTotals(t *testing.T, d *gpu.Device) map[int64]int64 {
	t.Helper()
	totals := map[int64]int64{}
	for _, x := range d.XIDs {
		n, ok := x.Count.Get()
		require.True(t, ok)
		assert.Equal(t, manualEpoch, x.Count.Since(), "when counting began")
		totals[x.XID] = n
	}
	return totals
}
