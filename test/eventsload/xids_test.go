// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package eventsload has tests of many events at once: memory bounded and flat, order by device kept, nothing lost that is not counted.
// `go test` runs a short form, `make events-load` the long one.
package eventsload

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
	"github.com/otelgpu/gpureceiver/internal/record"
)

const (
	gpus  = 8
	burst = 10_000
	// batch is how many XIDs the nvml scraper hands on at a time.
	batch = 256
	// most is how much the heap may grow after the first burst.
	most = 8 << 20
)

// bursts is how many bursts there are: GPURECEIVER_EVENTS_LOAD, else few.
func bursts(t *testing.T) int {
	t.Helper()
	text := os.Getenv("GPURECEIVER_EVENTS_LOAD")
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// node is a pipeline with a consumer that counts.
type node struct {
	pipeline *pipeline.Pipeline
	host     gpu.Host
	clock    time.Time            // of the last XID
	last     map[string]time.Time // record of each GPU
	xids     int64                // XIDs in records
	records  int
	dropped  int64
	disorder []string
}

func newNode() *node {
	n := &node{host: gpu.Host{Name: "n1"}, clock: time.Unix(1_700_000_000, 0), last: map[string]time.Time{}}
	n.pipeline = pipeline.New(pipeline.Options{
		Source: "nvml", Logger: zap.NewNop(), Events: true, EventsDropped: func(events int) { n.dropped += int64(events) },
		EventRecorder: record.NewEvents(metadata.DefaultLogsBuilderConfig(), receivertest.NewNopSettings(metadata.Type)),
	})
	return n
}

// add adds a burst of XIDs in turn on each GPU, in batches, and calls after with each. Each GPU has codes, in turn.
func (n *node) add(codes int, after func()) {
	for i := 0; i < burst; {
		var events []gpu.Event
		for ; i < burst && len(events) < batch; i++ {
			n.clock = n.clock.Add(time.Millisecond)
			events = append(events, gpu.Event{
				Type: gpu.EventXID, Time: n.clock, DeviceID: fmt.Sprintf("GPU-%d", i%gpus), Vendor: gpu.NVIDIA, XID: int64(i/gpus%codes + 1),
			})
		}
		n.pipeline.AddEvents(events)
		after()
	}
}

// consume takes records as a logs pipeline does.
func (n *node) consume(logs plog.Logs) {
	for _, rl := range logs.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, r := range sl.LogRecords().All() {
				n.records++
				id, _ := r.Attributes().Get("hw.id")
				count, summed := r.Attributes().Get("hw.gpu.event.count")
				if summed {
					n.xids += count.Int()
				} else {
					n.xids++
				}
				timestamp := r.Timestamp().AsTime()
				if timestamp.Before(n.last[id.Str()]) {
					n.disorder = append(n.disorder, fmt.Sprintf("%s: %v after %v", id.Str(), timestamp, n.last[id.Str()]))
				}
				n.last[id.Str()] = timestamp
			}
		}
	}
}

// heap is what is in use after a collection.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// Bursts of 10,000 XIDs, with a consumer that accepts what is sent: every XID is in one record, the XIDs of each GPU are in order, and
// memory does not grow.
func TestBurstsOfXIDs(t *testing.T) {
	for _, c := range []struct {
		name  string
		codes int
	}{{"one code", 1}, {"60 codes, all summed", 60}, {"more codes than are summed", burst}} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode()
			first, rounds := int64(0), bursts(t)
			for round := range rounds {
				n.add(c.codes, func() { n.consume(n.pipeline.Logs(&n.host)) })
				if round == 0 {
					first = heap()
				}
			}
			grown := heap() - first
			n.consume(n.pipeline.LastLogs(&n.host))
			t.Logf("%s: %d XIDs in %d records; the heap grew by %d KiB after the first burst", c.name, n.xids, n.records, grown>>10)
			assert.EqualValues(t, rounds*burst, n.xids)
			assert.Zero(t, n.dropped)
			assert.Empty(t, n.disorder)
			assert.Less(t, grown, int64(most))
		})
	}
}

// The same bursts without a consumer: events that are never sent are counted, and memory does not grow.
func TestBurstsOfXIDsWithoutConsumer(t *testing.T) {
	n := newNode()
	first, rounds := int64(0), bursts(t)
	for round := range rounds {
		n.add(burst, func() {})
		if round == 0 {
			first = heap()
		}
	}
	grown := heap() - first
	n.consume(n.pipeline.LastLogs(&n.host))
	t.Logf("no consumer: %d XIDs sent at the end, %d dropped; the heap grew by %d KiB after the first burst", n.xids, n.dropped, grown>>10)
	assert.Positive(t, n.dropped)
	assert.EqualValues(t, rounds*burst, n.xids+n.dropped, "nothing is lost that is not counted")
	assert.Empty(t, n.disorder, "what is left is in order")
	assert.Less(t, grown, int64(most))
}
