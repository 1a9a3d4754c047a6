// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// soakSeen is what is known from the messages before.
type soakSeen struct {
	well      map[string][]string // what is told of a device when all is well, by hw.id
	places    map[string]string   // at which PCI address it is
	xids      map[string]otlptest.Point
	waiting   map[string]float64 // XIDs by series, of which the metric has not told yet
	processes map[string]bool    // that the events have told of
	first     bool
}

func (s *soak) settings() receiver.Settings { return receivertest.NewNopSettings(metadata.Type) }

// checkEvents compares the events with the metrics that are sent beside them.
func (s *soak) checkEvents(node *gpu.Node, points []otlptest.Point) []string {
	var found, wanted, told []string
	if s.seen.xids == nil {
		s.seen.xids, s.seen.waiting, s.seen.processes = map[string]otlptest.Point{}, map[string]float64{}, map[string]bool{}
	}
	for id, state := range s.history.States {
		if before, ok := s.history.Before[id]; ok && before != state {
			wanted = append(wanted, id+" "+before+" to "+state)
		} else if !ok && state != "ok" {
			wanted = append(wanted, id+"  to "+state)
		}
	}
	events := s.pipeline.TakeEvents()
	logs := s.recorder.Record(&s.host, events, pcommon.NewTimestampFromTime(s.now()))
	if logs.LogRecordCount() != len(events) {
		found = append(found, fmt.Sprintf("%d records of %d events", logs.LogRecordCount(), len(events)))
	}
	for _, rl := range logs.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, r := range sl.LogRecords().All() {
				found = append(found, s.declared.EventViolations(r.EventName(), r.Attributes())...)
				a := r.Attributes().AsRaw()
				id, _ := a["hw.id"].(string)
				text := func(name string) string { v, _ := a[name].(string); return v }
				switch r.EventName() {
				case "hw.gpu.status":
					told = append(told, id+" "+text("hw.state.previous")+" to "+text("hw.state"))
				case "hw.gpu.xid":
					s.seen.waiting[fmt.Sprint(id, " ", a["hw.gpu.xid"])]++
				case "process.gpu.started", "process.gpu.exited":
					key, started := fmt.Sprint(id, " ", a["process.pid"]), r.EventName() == "process.gpu.started"
					if s.seen.processes[key] == started {
						found = append(found, fmt.Sprintf("%s of %s, which was so before", r.EventName(), key))
					}
					s.seen.processes[key] = started
				}
			}
		}
	}
	if !s.seen.first { // those of the first message are no news
		s.seen.first = true
		for i := range node.Processes {
			s.seen.processes[fmt.Sprint(node.Processes[i].DeviceID, " ", node.Processes[i].PID)] = true
		}
	}
	for i := range node.Processes {
		if p := &node.Processes[i]; !s.seen.processes[fmt.Sprint(p.DeviceID, " ", p.PID)] {
			found = append(found, fmt.Sprintf("no event told of process %d on %s", p.PID, p.DeviceID))
		}
	}
	slices.Sort(wanted)
	slices.Sort(told)
	if !slices.Equal(wanted, told) {
		found = append(found, fmt.Sprintf("the states change by %q, the events tell %q", wanted, told))
	}
	return append(found, s.checkXIDs(points)...)
}

// checkXIDs demands that each event is counted, and nothing else.
func (s *soak) checkXIDs(points []otlptest.Point) []string {
	var found []string
	for _, p := range otlptest.Of(points, "hw.errors") {
		if p.Attributes["error.type"] != "xid" {
			continue
		}
		key := fmt.Sprint(p.Attributes["hw.id"], " ", p.Attributes["hw.gpu.xid"])
		before, known := s.seen.xids[key]
		grown := p.Value
		if known && before.Start == p.Start {
			grown -= before.Value
		}
		if grown != s.seen.waiting[key] && (!known || before.Start == p.Start) {
			found = append(found, fmt.Sprintf("%s grew by %v, of %v events", p.Series(), grown, s.seen.waiting[key]))
		}
		s.seen.xids[key] = p
		delete(s.seen.waiting, key)
	}
	return found
}
