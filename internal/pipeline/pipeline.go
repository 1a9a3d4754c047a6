// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kernellog"
	"github.com/otelgpu/gpureceiver/internal/record"
	"github.com/otelgpu/gpureceiver/internal/series"
	"github.com/otelgpu/gpureceiver/internal/usage"
)

// Options configure a Pipeline.
type Options struct {
	Source string      // the key of the scraper: hw.gpu.source.name
	Logger *zap.Logger // names the scraper and, for a remote node, the cluster and the node
	Where  string      // ends each message of the log: " on node n1 in cluster c1"; empty for this machine
	// Optional: no configuration names the vendor's scraper, so a machine without its GPUs does not cause a warning.
	Optional bool
	// Events: a logs pipeline accepts the events. ProcessEvents: it also wants the events of processes, which cost memory.
	Events, ProcessEvents bool
	// AllocationEvents: it also wants the events of allocations.
	AllocationEvents bool
	// ThrottledAfter is how long a device is throttled before that is an event.
	ThrottledAfter time.Duration
	// Interval is the time between two reads, as configured.
	Interval time.Duration
	// MaxProcesses bounds the processes that are recorded; Dropped is called with the number of those left out.
	MaxProcesses int
	Dropped      func(ctx context.Context, processes int)
	// EventsDropped is called, from any goroutine, with the number of events that were dropped because too many wait for the logs pipeline. It must
	// not wait. It may be nil.
	EventsDropped func(events int)
	// KernelLog: the kernel's log is followed, so that most XIDs come twice: from the source, and by AddKernelLog. Vendor is the vendor of
	// interest, and Sys is the mount point of sysfs, from which the GPU below a PCI port is read.
	KernelLog bool
	Vendor    gpu.Vendor
	Sys       string
	// Executable returns the name of the executable file of a process of this machine; "" if it cannot be read. It must not wait. It may be nil.
	Executable func(pid int64) string
	// LogRead reports whether the kernel's log is read at present. Nil: never.
	LogRead func() bool
	// Keep: what is known is kept, and Checkpoint returns it. Known is what an earlier process knew; nil: nothing.
	Keep  bool
	Known *Known
	// Recorder and EventRecorder are for this pipeline alone. Metrics needs the first, and what records events the second.
	Recorder      *record.Recorder
	EventRecorder *record.EventRecorder
}

// Pipeline follows one vendor's GPUs of one node from read to read. Take, Failed and Metrics are for one goroutine at a time;
// Logs may be called from another one and never waits for a read.
type Pipeline struct {
	options  Options
	problems *ProblemLog
	stateLog *stateLog
	sources  sourceChanges
	states   stateChanges
	throttle throttleChanges
	usage    *usage.Tracker
	waiting  eventQueue
	ras      rasChanges
	kernel   *kernelXIDs // nil if the kernel's log is not followed
	indexes  lastIndexes
	series   series.Tracker

	logDropped       sync.Once
	logSourceDropped sync.Once
	checkpoint       checkpointState
}

// New returns a Pipeline that has seen no read.
func New(options Options) *Pipeline {
	p := &Pipeline{
		options: options, problems: NewProblemLog(options.Logger, options.Where), stateLog: newStateLog(options.Logger, options.Where),
	}
	p.waiting.found, p.waiting.dropped = make(chan struct{}, 1), p.eventsDropped
	if options.Events && options.KernelLog {
		p.kernel = newKernelXIDs(options.Vendor, options.Sys, p.waiting.addFound)
		p.kernel.executable = options.Executable
	}
	p.usage = usage.New(usage.Options{
		Interval: options.Interval, Allocations: options.Events && options.AllocationEvents, Processes: options.Events && options.ProcessEvents,
	})
	p.throttle = newThrottleChanges(options.ThrottledAfter, options.Interval)
	p.restore(options.Known)
	return p
}

// Take notes what has changed since the last read: it logs and queues changes of state, queues the events of the source and of processes,
// limits the processes, and logs problems.
func (p *Pipeline) Take(ctx context.Context, node *gpu.Node) {
	node.Source = p.options.Source
	changes := p.states.next(node)
	p.stateLog.update(node, changes)
	if p.options.Events {
		p.kernel.set(node)
		node.Events = p.kernel.fromSource(node.Events)
		if node.EventsDropped > 0 {
			p.sourceDropped(node.EventsDropped)
		}
		source, ras, use, throttle := p.sources.next(node), p.ras.next(node, p.logRead()), p.usage.Next(node), p.throttle.next(node)
		p.keep(func() { p.waiting.addRead(node, source, changes, ras, throttle, use) })
	}
	if dropped := keepLargest(node, p.options.MaxProcesses); dropped > 0 {
		p.options.Dropped(ctx, dropped)
	}
	p.problems.Update(node.Problems, !p.options.Optional || node.HasGPU())
}

func (p *Pipeline) logRead() bool {
	return p.options.KernelLog && p.options.LogRead != nil && p.options.LogRead()
}

// Failed notes a read that brought no node, and returns a node with only its failure, to be recorded.
func (p *Pipeline) Failed(host gpu.Host, vendor gpu.Vendor, now time.Time, err error) *gpu.Node {
	node := &gpu.Node{Host: host, Vendor: vendor, Time: now, Source: p.options.Source, Failure: gpu.FailureOf(err)}
	p.problems.Add(gpu.Problem{Kind: gpu.ProblemSource, What: "read", Err: err})
	if p.options.Events {
		source := p.sources.next(node)
		p.keep(func() { p.waiting.addRead(node, source) })
	}
	return node
}

// Unreadable is the number of quantities and steps that should be readable and were not at the last read.
func (p *Pipeline) Unreadable() int { return p.problems.Unreadable() }

// Metrics records a node that Take has taken, or that Failed returned, and ends the series that it no longer has.
func (p *Pipeline) Metrics(node *gpu.Node) pmetric.Metrics {
	p.indexes.complete(node)
	return p.series.End(p.options.Recorder.Record(node), pcommon.NewTimestampFromTime(node.Time))
}

// End ends all series, because the node is not read any more.
func (p *Pipeline) End(now time.Time) pmetric.Metrics {
	return p.series.End(pmetric.NewMetrics(), pcommon.NewTimestampFromTime(now))
}

// eventsDropped counts events that were dropped, and logs the first ones.
func (p *Pipeline) eventsDropped(events int) {
	p.logDropped.Do(func() {
		p.options.Logger.Warn("Events dropped"+p.options.Where, zap.String("reason", "too many events wait for the logs pipeline; the oldest are dropped"),
			zap.Int("max_events", maxEvents),
			zap.String("remedy", "give the exporter of the logs pipeline a sending queue; otelcol_gpu_events_dropped counts the dropped events"))
	})
	if p.options.EventsDropped != nil {
		p.options.EventsDropped(events)
	}
}

// sourceDropped counts events that the source had no room for, and logs the first ones.
func (p *Pipeline) sourceDropped(events int) {
	p.logSourceDropped.Do(func() {
		p.options.Logger.Warn("Events of the driver dropped"+p.options.Where, zap.Int("events", events),
			zap.String("reason", "more events of different GPUs and codes arrived between two reads than the source keeps"),
			zap.String("remedy", "look at the kernel's log, which contains all of them; otelcol_gpu_events_dropped counts the dropped events"))
	})
	if p.options.EventsDropped != nil {
		p.options.EventsDropped(events)
	}
}

// AddEvents queues events that the source has found between reads. It may be called from any goroutine.
func (p *Pipeline) AddEvents(events []gpu.Event) { p.waiting.addFound(p.kernel.fromSource(events)) }

// Found signals that events may wait for a logs pipeline: after a read, when events were found between reads, and when a sum is complete.
func (p *Pipeline) Found() <-chan struct{} { return p.waiting.found }

// Waiting is the number of events that wait for a logs pipeline.
func (p *Pipeline) Waiting() int { return p.waiting.count() }

// AddKernelLog queues what the kernel's log has of the vendor's GPUs. It may be called from any goroutine.
func (p *Pipeline) AddKernelLog(host *gpu.Host, messages []kernellog.Event) {
	if p.kernel != nil {
		p.waiting.addFound(p.kernel.fromLog(host, messages))
	}
}

// TakeEvents returns the events that wait for a logs pipeline, and queues them no longer.
func (p *Pipeline) TakeEvents() []gpu.Event { return p.waiting.take() }

// TakeLastEvents returns the events that wait, and the sums of those that are still summed.
func (p *Pipeline) TakeLastEvents() []gpu.Event {
	p.waiting.addFound(p.kernel.end())
	return p.waiting.takeLast()
}

// Logs records the queued events, observed now. The queue is usually empty.
func (p *Pipeline) Logs(host *gpu.Host) plog.Logs { return p.record(host, p.TakeEvents()) }

// LastLogs records the last events, before the pipeline ends.
func (p *Pipeline) LastLogs(host *gpu.Host) plog.Logs { return p.record(host, p.TakeLastEvents()) }

func (p *Pipeline) record(host *gpu.Host, events []gpu.Event) plog.Logs {
	if len(events) == 0 {
		return plog.NewLogs()
	}
	return p.options.EventRecorder.Record(host, events, pcommon.NewTimestampFromTime(time.Now()))
}
