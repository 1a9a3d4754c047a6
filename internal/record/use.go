// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// setAllocation sets the container that a device was allocated to, how, and what it used.
func setAllocation(record plog.LogRecord, e *gpu.Event) {
	a := attributes{record.Attributes()}
	a.workload(e.Holder.Container)
	a.text("hw.gpu.partition.profile", e.Profile)
	a.text("hw.gpu.allocator", allocatorNames[e.Holder.Allocator])
	if e.Outside == nil || e.Holder.Sharing == gpu.SharingClaim {
		a.text("hw.gpu.sharing", sharingNames[e.Holder.Sharing])
	}
	a.text("k8s.resource.name", e.Holder.Resource)
	if e.Outside != nil {
		a.text("k8s.node.name", e.Outside.Node)
		a.int("hw.gpu.use.count", e.Outside.Count)
	}
	a.use(e.Use)
	a.labels(e.Holder.Container.Labels)
	record.Body().SetStr(allocationText(e))
}

// use sets the time of a use and, if it has ended, what is known of it.
func (a attributes) use(u *gpu.Use) {
	if u == nil {
		return
	}
	a.PutStr("hw.gpu.use.start_time", iso8601(u.Start))
	a.PutBool("hw.gpu.use.start_known", u.StartKnown)
	if u.End.IsZero() {
		return
	}
	a.PutStr("hw.gpu.use.end_time", iso8601(u.End))
	a.PutBool("hw.gpu.use.end_known", u.EndKnown)
	a.PutDouble("hw.gpu.use.duration", u.End.Sub(u.Start).Seconds())
	a.double("hw.gpu.use.gpu_time", u.GPUTime)
	a.double("hw.gpu.use.busy_time", u.BusyTime)
	a.double("hw.gpu.use.idle_time", u.IdleTime)
	a.double("hw.gpu.use.energy", u.Energy)
	a.int("hw.gpu.use.memory_peak", u.MemoryPeak)
	a.int("hw.gpu.use.memory_mean", u.MemoryMean)
}

// allocationText is the body: nvidia0 (NVIDIA H100) allocated to team/train-0/main; team/train-0/main released nvidia0 (NVIDIA H100) after
// 2h0m0s, busy for 1h50m0s. Agentless: 2 nvidia.com/gpu of node-a allocated to team/train-0/main.
func allocationText(e *gpu.Event) string {
	device := cmp.Or(e.Name, e.DeviceID)
	if model := strings.TrimSpace(e.Model + " " + e.Profile); model != "" {
		device += " (" + model + ")"
	}
	if e.Outside != nil {
		device = e.Holder.Resource + " of " + e.Outside.Node
		if count, ok := e.Outside.Count.Get(); ok {
			device = fmt.Sprint(count, " ", device)
		}
	}
	container := containerText(e.Holder.Container)
	if e.Type == gpu.EventAllocated {
		if e.Use != nil && !e.Use.StartKnown {
			return fmt.Sprintf("%s is allocated to %s; the start is unknown", device, container)
		}
		return fmt.Sprintf("%s allocated to %s", device, container)
	}
	atLeast, busy := "", ""
	if !e.Use.StartKnown || !e.Use.EndKnown {
		atLeast = "at least "
	}
	if seconds, ok := e.Use.BusyTime.Get(); ok {
		busy = ", busy for " + (time.Duration(seconds) * time.Second).String()
	}
	return fmt.Sprintf("%s released %s after %s%s%s", container, device, atLeast, e.Use.End.Sub(e.Use.Start).Round(time.Second), busy)
}
