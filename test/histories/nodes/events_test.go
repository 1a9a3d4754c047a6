// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

import (
	"cmp"
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// sentBefore is the state shown by earlier messages.
type sentBefore struct {
	well      map[string][]string // series of a device without faults, by hw.id
	places    map[string]string   // its PCI address
	xids      map[string]otlptest.Point
	waiting   map[string]float64 // XIDs by series that are not counted yet
	processes map[string]bool    // the last event: started
	uids      map[string]bool    // of events
	first     bool
}

// checkEvents compares the events with the metrics that are sent with them.
func (n *node) checkEvents(node *gpu.Node, points []otlptest.Point) []string {
	var result, want, records []string
	var used []map[string]any // by containers
	if n.previous.xids == nil {
		n.previous.xids, n.previous.waiting, n.previous.processes = map[string]otlptest.Point{}, map[string]float64{}, map[string]bool{}
	}
	for id, state := range n.sequence.States {
		if before, ok := n.sequence.Before[id]; ok && before != state {
			want = append(want, id+" "+before+" to "+state)
		} else if !ok && state != "ok" {
			want = append(want, id+"  to "+state)
		}
	}
	events := n.pipeline.TakeLastEvents() // with the sums as they are: each XID that was counted is in one of them
	logs := n.recorder.Record(&n.host, events, pcommon.NewTimestampFromTime(n.now()))
	if logs.LogRecordCount() != len(events) {
		result = append(result, fmt.Sprintf("%d records of %d events", logs.LogRecordCount(), len(events)))
	}
	for _, rl := range logs.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, r := range sl.LogRecords().All() {
				result = append(result, n.declared.EventViolations(r.EventName(), r.Attributes())...)
				a := r.Attributes().AsRaw()
				id, _ := a["hw.id"].(string)
				text := func(name string) string { v, _ := a[name].(string); return v }
				result = append(result, n.previous.checkUIDs(text("log.record.uid"), text("hw.gpu.event.follows"))...)
				switch r.EventName() {
				case "hw.gpu.status":
					records = append(records, id+" "+text("hw.gpu.previous_state")+" to "+text("hw.state"))
				case "hw.gpu.xid":
					gpuID, happened := cmp.Or(text("hw.parent"), id), int64(1) // the counter is the GPU's
					if sum, ok := a["hw.gpu.event.count"].(int64); ok {
						happened = sum
					}
					n.previous.waiting[fmt.Sprint(gpuID, " ", a["hw.gpu.xid"])] += float64(happened)
				case "container.gpu.allocated", "container.gpu.released":
					used = append(used, a)
				case "process.gpu.started", "process.gpu.exited":
					key, started := fmt.Sprint(id, " ", a["process.pid"]), r.EventName() == "process.gpu.started"
					if n.previous.processes[key] == started {
						result = append(result, fmt.Sprintf("%s of %s, twice in a row", r.EventName(), key))
					}
					n.previous.processes[key] = started
				}
			}
		}
	}
	if !n.previous.first { // faults of the first message are not new
		n.previous.first = true
		for i := range node.Processes {
			n.previous.processes[fmt.Sprint(node.Processes[i].DeviceID, " ", node.Processes[i].PID)] = true
		}
	}
	for i := range node.Processes {
		if p := &node.Processes[i]; !n.previous.processes[fmt.Sprint(p.DeviceID, " ", p.PID)] {
			result = append(result, fmt.Sprintf("no event for process %d on %s", p.PID, p.DeviceID))
		}
	}
	result = append(result, n.uses.add(points, used, n.sequence.ClockSet)...)
	slices.Sort(want)
	slices.Sort(records)
	if !slices.Equal(want, records) {
		result = append(result, fmt.Sprintf("the states change by %q, the events report %q", want, records))
	}
	return append(result, n.checkXIDs(points)...)
}

// checkUIDs requires that each event has a uid of its own, and refers only to an earlier one.
func (s *sentBefore) checkUIDs(uid, follows string) []string {
	var result []string
	if uid == "" || s.uids[uid] {
		result = append(result, fmt.Sprintf("the uid %q is missing, or that of two events", uid))
	}
	if follows != "" && !s.uids[follows] {
		result = append(result, fmt.Sprintf("%s follows %s, which was not sent before it", uid, follows))
	}
	if s.uids == nil {
		s.uids = map[string]bool{}
	}
	s.uids[uid] = true
	return result
}

// checkXIDs requires that each event is counted, and nothing else.
func (n *node) checkXIDs(points []otlptest.Point) []string {
	var result []string
	for _, p := range otlptest.Of(points, "hw.gpu.xids") {
		key := fmt.Sprint(p.Attributes["hw.id"], " ", p.Attributes["hw.gpu.xid"])
		before, ok := n.previous.xids[key]
		grown := p.Value
		if ok && before.Start == p.Start {
			grown -= before.Value
		}
		if grown != n.previous.waiting[key] && (!ok || before.Start == p.Start) {
			result = append(result, fmt.Sprintf("%s grew by %v, after %v events", p.Series(), grown, n.previous.waiting[key]))
		}
		n.previous.xids[key] = p
		delete(n.previous.waiting, key)
	}
	return result
}
