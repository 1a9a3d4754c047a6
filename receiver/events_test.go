// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// records lists the log records that arrived in a sink.
func records(sink *consumertest.LogsSink) []plog.LogRecord {
	var all []plog.LogRecord
	for _, logs := range sink.AllLogs() {
		for _, rl := range logs.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, record := range sl.LogRecords().All() {
					all = append(all, record)
				}
			}
		}
	}
	return all
}

// transition is a change of state as reported by an event: device, state, previous state, severity.
func transition(record plog.LogRecord) string {
	attribute := func(name string) string {
		if v, ok := record.Attributes().Get(name); ok {
			return v.AsString()
		}
		return "-"
	}
	return fmt.Sprintf("%s %s: %s to %s, %s", record.EventName(), attribute("hw.id"), attribute("hw.gpu.previous_state"),
		attribute("hw.state"), record.SeverityNumber())
}

func TestEventsOfStates(t *testing.T) {
	source := &fakeSource{next: func(_ context.Context, read int) (*gpu.Node, error) {
		node := nodeOf(healthy("GPU-1"), lost("GPU-2"))
		switch {
		case read >= 3 && read < 6:
			node = nodeOf(lost("GPU-1"), lost("GPU-2"))
		case read >= 6:
			node = nodeOf(healthy("GPU-1"), healthy("GPU-2"))
		}
		if read == 4 {
			node.Events = []gpu.Event{{Type: gpu.EventXID, Time: time.Unix(100, 0), DeviceID: "GPU-1", XID: 79}}
		}
		return node, nil
	}}
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	r.run(r.newMetrics(), r.newLogs())
	eventually(t, func() bool { return r.logs.LogRecordCount() >= 5 }, "all events")
	eventually(t, func() bool { return source.reads.Load() > 10 }, "and no more")
	var got []string
	for _, record := range records(r.logs) {
		got = append(got, transition(record))
	}
	assert.Equal(t, []string{
		"hw.gpu.status GPU-2: - to failed, Error",
		"hw.gpu.status GPU-1: ok to failed, Error",
		"hw.gpu.xid GPU-1: - to -, Fatal",
		"hw.gpu.status GPU-1: failed to ok, Info",
		"hw.gpu.status GPU-2: failed to ok, Info",
	}, got)
	assert.Equal(t, "GPU-2 has failed: it fell off the bus; restart the node", records(r.logs)[0].Body().Str())
	assert.Regexp(t, `^GPU-1 is ok, was failed for \d+s: the GPU is healthy again$`, records(r.logs)[3].Body().Str())
	assert.Equal(t, time.Unix(100, 0).UTC(), records(r.logs)[2].Timestamp().AsTime(), "its own time")
}

// Without a logs pipeline no events are kept.
func TestNoEventsWithoutALogsPipeline(t *testing.T) {
	source := always(lost("GPU-1"))
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	r.run(r.newMetrics())
	eventually(t, func() bool { return source.reads.Load() > 3 }, "it runs")
	for _, s := range r.sources() {
		assert.Empty(t, s.local[0].pipeline.TakeEvents())
	}
}
