// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// useEvents are the beginning and the end of an allocation of a MIG instance and of a process, and an allocation that little is known about.
func useEvents() []gpu.Event {
	labelled := *trainer
	labelled.Labels = map[string]string{"k8s.pod.label.team": "vision"}
	mig := gpu.Event{DeviceID: migID, Parent: gpuID, Name: "nvidia0", Model: "NVIDIA H100 80GB HBM3", Profile: "3g.40gb", Vendor: gpu.NVIDIA}
	holder := &gpu.Holder{Container: &labelled, Resource: "nvidia.com/mig-3g.40gb"}
	process := &gpu.Process{
		PID: 41, DeviceID: migID, Type: gpu.ProcessCompute, Created: timeAt(0), Executable: "python3", Command: "/usr/bin/python3", Container: &labelled,
	}
	event := func(uid string, kind gpu.EventType, seconds int, base gpu.Event) gpu.Event {
		base.UID, base.Type, base.Time = uid, kind, timeAt(seconds)
		return base
	}
	allocated, started := mig, mig
	allocated.Holder, started.Process, started.Message = holder, process, "python3 uses the GPU"
	released, exited := allocated, started
	exited.Message = "python3 does not use the GPU any more"
	allocated.Use = &gpu.Use{Start: timeAt(1), StartKnown: true}
	started.Use = allocated.Use
	released.Use = &gpu.Use{
		Start: timeAt(1), StartKnown: true, End: timeAt(7262), EndKnown: true, GPUTime: gpu.Some(7261.0), BusyTime: gpu.Some(6600.5), IdleTime: gpu.Some(630.5),
		Energy: gpu.Some(1.25e6), MemoryPeak: gpu.Some(int64(30e9)), MemoryMean: gpu.Some(int64(20e9)),
	}
	exited.Use = &gpu.Use{
		Start: timeAt(1), StartKnown: true, End: timeAt(7232), EndKnown: true, BusyTime: gpu.Some(6600.5), IdleTime: gpu.Some(600.5),
		MemoryPeak: gpu.Some(int64(30e9)), MemoryMean: gpu.Some(int64(20e9)),
	}
	unknown := gpu.Event{
		DeviceID: amdID, Vendor: gpu.AMD, Holder: &gpu.Holder{
			Container: &gpu.Container{Namespace: "team", PodName: "notebook", Name: "main"}, Resource: "gpu.amd.com", Allocator: gpu.AllocatorDRA, Sharing: gpu.SharingClaim,
		},
	}
	first, last := unknown, unknown
	first.Use = &gpu.Use{Start: timeAt(1)}
	last.Use = &gpu.Use{Start: timeAt(1), End: timeAt(601), GPUTime: gpu.Some(300.0)}
	outside := gpu.Event{
		Holder: &gpu.Holder{Container: &labelled, Resource: "nvidia.com/gpu"}, Outside: &gpu.Outside{Node: "node-a", Count: gpu.Some(int64(2))},
	}
	bound, ended := outside, outside
	bound.Use = &gpu.Use{Start: timeAt(1), StartKnown: true}
	ended.Use = &gpu.Use{Start: timeAt(1), StartKnown: true, End: timeAt(3601), EndKnown: true, GPUTime: gpu.Some(7200.0)}
	return []gpu.Event{
		event("u1", gpu.EventAllocated, 1, allocated), event("u2", gpu.EventProcessStarted, 1, started),
		event("u3", gpu.EventProcessExited, 7232, exited), event("u4", gpu.EventReleased, 7262, released),
		event("u5", gpu.EventAllocated, 1, first), event("u6", gpu.EventReleased, 4000, last),
		event("u7", gpu.EventAllocated, 1, bound), event("u8", gpu.EventReleased, 3601, ended),
	}
}

func TestGoldenUseEvents(t *testing.T) {
	host := fullNode().Host
	withProcesses := newEvents(func(c *metadata.LogsBuilderConfig) { enable(&c.Events, true) })
	compareLogs(t, "use_events.yaml", withProcesses.Record(&host, useEvents(), observed))
}

// The bodies are for people. Records of use are not warnings.
func TestUseBodies(t *testing.T) {
	host := gpu.Host{Name: "node-a"}
	var bodies []string
	for _, record := range recordsOf(newEvents(nil).Record(&host, useEvents(), observed)) {
		assert.Equal(t, plog.SeverityNumberInfo, record.SeverityNumber())
		bodies = append(bodies, record.Body().AsString())
	}
	assert.Equal(t, []string{
		"nvidia0 (NVIDIA H100 80GB HBM3 3g.40gb) allocated to team/train-0/main",
		"team/train-0/main released nvidia0 (NVIDIA H100 80GB HBM3 3g.40gb) after 2h1m1s, busy for 1h50m0s",
		amdID + " is allocated to team/notebook/main; the start is unknown",
		"team/notebook/main released " + amdID + " after at least 10m0s",
		"2 nvidia.com/gpu of node-a allocated to team/train-0/main",
		"team/train-0/main released 2 nvidia.com/gpu of node-a after 1h0m0s",
	}, bodies, "the events of processes are off by default")
}

// What is not known has no attribute: a record without energy is not one with 0 J.
func TestUnknownUse(t *testing.T) {
	host := gpu.Host{Name: "node-a"}
	records := recordsOf(newEvents(nil).Record(&host, useEvents(), observed))
	require.Len(t, records, 6)
	assert.Equal(t, attrs(
		"log.record.uid", "u6", "hw.id", amdID, "hw.vendor", "AMD", "hw.gpu.allocator", "dra", "hw.gpu.sharing", "shared_claim",
		"k8s.resource.name", "gpu.amd.com", "k8s.container.name", "main", "k8s.namespace.name", "team", "k8s.pod.name", "notebook",
		"hw.gpu.use.start_time", iso8601(timeAt(1)), "hw.gpu.use.start_known", false, "hw.gpu.use.end_time", iso8601(timeAt(601)), "hw.gpu.use.end_known", false,
		"hw.gpu.use.duration", (10*time.Minute).Seconds(), "hw.gpu.use.gpu_time", 300.0,
	), records[3].Attributes().AsRaw())
}
