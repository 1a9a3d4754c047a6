// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/process"
)

// reading is one scraper at work: it reads the source and completes what was read until it can be recorded. The pipelines
// of one receiver share it.
type reading struct {
	receiver     string // its ID
	scraper      string
	byDefault    bool // nobody asked for it: the vendor's GPUs need not be there
	source       gpu.Source
	host         gpu.Host
	processes    *process.Reader
	attributor   *attribution.Attributor // nil where nothing is to be attributed
	maxProcesses int
	problems     *problemLog
	telemetry    *metadata.TelemetryBuilder
	health       *health
	closing      context.Context
	stats        readStats
	label        sync.Once
	labels       metric.MeasurementOption

	events       eventQueue // that wait for the logs pipeline
	feedsMetrics bool       // a metrics pipeline reads the source; a logs pipeline then only takes the events
	feedsLogs    bool

	mu        sync.Mutex // one read at a time; also guards what follows
	states    stateWatch
	processed *processWatch // nil where nobody wants to know of processes
}

// read reads the source and hands the complete node to use, which must be done with it when it returns. It ends early when
// the receiver is shut down.
func (r *reading) read(ctx context.Context, use func(*gpu.Node)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.closing, cancel)()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing.Err() != nil {
		return
	}
	began := time.Now()
	r.stats.begin(ctx)
	node, err := r.source.Read(ctx)
	if r.closing.Err() != nil {
		return // half a read is no news
	}
	r.stats.note(began, err == nil && !node.Unread)
	if err != nil {
		r.problems.add(gpu.Problem{Kind: gpu.ProblemSource, What: "read", Err: err})
		r.countUnreadable(ctx)
		return
	}
	if node.Time.IsZero() {
		node.Time = began
	}
	r.complete(ctx, node)
	use(node)
}

// complete adds to a node what its source cannot know.
func (r *reading) complete(ctx context.Context, node *gpu.Node) {
	node.Host = r.host
	node.CompleteIDs()
	if len(node.Devices) > 0 { // with no process too: what is wrong with the process table is not to come and go
		r.processes.Describe(node)
	}
	if r.attributor != nil {
		r.attributor.Apply(ctx, node)
	}
	changes := r.states.changes(node)
	r.problems.states(changes)
	if r.feedsLogs {
		r.events.add(node.Events...)
		r.events.add(changes...)
		r.events.add(r.processed.changes(node)...)
	}
	r.limitProcesses(ctx, node)
	r.problems.update(node.Problems, !r.byDefault || anyGPU(node))
	r.countUnreadable(ctx)
	r.health.update(r.scraper, node.RestartNeeded)
}

// limitProcesses keeps the processes with the most memory, and counts the others.
func (r *reading) limitProcesses(ctx context.Context, node *gpu.Node) {
	if dropped := keepLargest(node, r.maxProcesses); dropped > 0 {
		r.telemetry.GpuProcessesDropped.Add(ctx, int64(dropped), r.attributes())
	}
}

// keepLargest keeps so many processes, those with the most memory, and tells how many it dropped.
func keepLargest(node *gpu.Node, most int) int {
	dropped := len(node.Processes) - most
	if dropped <= 0 {
		return 0
	}
	memory := func(p gpu.Process) int64 {
		if v, ok := p.Memory.Get(); ok {
			return v
		}
		return -1 // only to sort by: those of which it is not known come last
	}
	slices.SortStableFunc(node.Processes, func(a, b gpu.Process) int { return cmp.Compare(memory(b), memory(a)) })
	node.Processes = node.Processes[:most]
	return dropped
}

// anyGPU tells whether there is anything that should be readable.
func anyGPU(node *gpu.Node) bool {
	missing, _ := node.Presence[gpu.Missing].Get()
	return len(node.Devices) > 0 || missing > 0
}

func (r *reading) countUnreadable(ctx context.Context) {
	r.telemetry.GpuUnreadable.Record(ctx, int64(r.problems.unreadable()), r.attributes())
}

// attributes are those of the receiver's own metrics.
func (r *reading) attributes() metric.MeasurementOption {
	r.label.Do(func() { r.labels = labels(r.receiver, attribute.String("scraper", r.scraper)) })
	return r.labels
}

// close releases the source. It does not wait for a read that hangs.
func (r *reading) close() error {
	if r.source == nil {
		return nil // never started
	}
	r.processes.Close()
	return r.source.Close()
}
