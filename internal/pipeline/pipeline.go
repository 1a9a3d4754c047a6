// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/record"
	"github.com/otelgpu/gpureceiver/internal/series"
)

// Options configure a Pipeline.
type Options struct {
	Source string      // the key of the scraper: hw.gpu.source.name
	Logger *zap.Logger // names the scraper and, for a remote node, the cluster and the node
	Where  string      // ends each message of the log: " on node n1 in cluster c1"; empty for this machine
	// Optional: no configuration names the vendor's scraper, so a machine without its GPUs is no reason for a warning.
	Optional bool
	// Events: a logs pipeline takes the events. ProcessEvents: it wants those of processes too, which cost memory.
	Events, ProcessEvents bool
	// MaxProcesses bounds the processes that are recorded; Dropped is called with the number of those left out.
	MaxProcesses int
	Dropped      func(ctx context.Context, processes int)
	// NewRecorder and NewEventRecorder are called once, before the first metrics and the first events are recorded.
	NewRecorder      func() *record.Recorder
	NewEventRecorder func() *record.EventRecorder
}

// Pipeline follows one vendor's GPUs of one node from read to read. Take, Failed and Metrics are for one goroutine at a time;
// Logs may be called from another one and never waits for a read.
type Pipeline struct {
	options   Options
	problems  *ProblemLog
	stateLog  *stateLog
	sources   sourceChanges
	states    stateChanges
	processes *processChanges // nil where no one wants events of processes
	waiting   eventQueue
	recorder  *record.Recorder
	series    series.Tracker
	events    *record.EventRecorder
}

// New returns a Pipeline that has seen no read.
func New(options Options) *Pipeline {
	p := &Pipeline{
		options: options, problems: NewProblemLog(options.Logger, options.Where), stateLog: newStateLog(options.Logger, options.Where),
	}
	if options.Events && options.ProcessEvents {
		p.processes = &processChanges{}
	}
	return p
}

// Take notes what has changed since the last read: it logs and queues changes of state, queues the source's own events and
// those of processes, limits the processes, and logs problems.
func (p *Pipeline) Take(ctx context.Context, node *gpu.Node) {
	node.Source = p.options.Source
	changes := p.states.next(node)
	p.stateLog.update(node, changes)
	p.sourceState(node)
	if p.options.Events {
		p.waiting.add(node.Events...)
		p.waiting.add(changes...)
		p.waiting.add(p.processes.next(node)...)
	}
	if dropped := keepLargest(node, p.options.MaxProcesses); dropped > 0 {
		p.options.Dropped(ctx, dropped)
	}
	p.problems.Update(node.Problems, !p.options.Optional || node.HasGPU())
}

// Failed notes a read that brought no node, and returns a node with only its failure, to be recorded.
func (p *Pipeline) Failed(host gpu.Host, vendor gpu.Vendor, at time.Time, err error) *gpu.Node {
	node := &gpu.Node{Host: host, Vendor: vendor, Time: at, Source: p.options.Source, Failure: gpu.FailureOf(err)}
	p.problems.Add(gpu.Problem{Kind: gpu.ProblemSource, What: "read", Err: err})
	p.sourceState(node)
	return node
}

// sourceState queues the event if the source became unreadable or readable again.
func (p *Pipeline) sourceState(node *gpu.Node) {
	changes := p.sources.next(node)
	if p.options.Events {
		p.waiting.add(changes...)
	}
}

// Unreadable is the number of quantities and steps that should be readable and were not at the last read.
func (p *Pipeline) Unreadable() int { return p.problems.Unreadable() }

// Metrics records a node that Take has taken, and ends the series that it no longer has.
func (p *Pipeline) Metrics(node *gpu.Node) pmetric.Metrics {
	if p.recorder == nil {
		p.recorder = p.options.NewRecorder()
	}
	return p.series.End(p.recorder.Record(node), pcommon.NewTimestampFromTime(node.Time))
}

// End ends all series, because the node is not read any more.
func (p *Pipeline) End(at time.Time) pmetric.Metrics {
	return p.series.End(pmetric.NewMetrics(), pcommon.NewTimestampFromTime(at))
}

// TakeEvents returns the events that wait for a logs pipeline, and queues them no longer.
func (p *Pipeline) TakeEvents() []gpu.Event { return p.waiting.take() }

// Logs records the events that wait, observed now. Mostly there are none.
func (p *Pipeline) Logs(host *gpu.Host) plog.Logs {
	events := p.TakeEvents()
	if len(events) == 0 {
		return plog.NewLogs()
	}
	if p.events == nil {
		p.events = p.options.NewEventRecorder()
	}
	return p.events.Record(host, events, pcommon.NewTimestampFromTime(time.Now()))
}
