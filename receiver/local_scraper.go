// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
	"github.com/otelgpu/gpureceiver/internal/process"
)

// localScraper reads one source on this machine. The metrics and the logs receiver of one configuration share it.
type localScraper struct {
	*shared
	key        string   // below scrapers, and the value of the attribute scraper
	host       gpu.Host // without labels: see currentHost
	processes  *process.Reader
	labels     metric.MeasurementOption
	nodeLabels *kube.NodeLabels // nil where none are sent
	kernelLog  *kernelLog       // nil where it is not followed for this source
	stats      readStats

	events  *eventSender // nil without a logs receiver
	watcher gpu.Watcher  // nil if the source learns of no events between reads, or nobody wants events

	mu       sync.Mutex // one read at a time
	reader   pipeline.Reader
	pipeline *pipeline.Pipeline // nil before the start
}

func newLocalScraper(s *shared, key string, host gpu.Host, processes *process.Reader) *localScraper {
	return &localScraper{shared: s, key: key, host: host, processes: processes, labels: labels(s.receiver, attribute.String("scraper", key))}
}

// begin gives the scraper its source and its pipeline. It is called once, before the first read.
func (s *localScraper) begin(source gpu.Source, options pipeline.Options) {
	s.reader.Source = timedSource{Source: source, stats: &s.stats, closing: s.closing, optional: options.Optional}
	s.reader.Processes = localProcesses{s.processes}
	options.Dropped = func(ctx context.Context, processes int) {
		s.telemetry.GpuProcessesDropped.Add(ctx, int64(processes), s.labels)
	}
	options.EventsDropped = func(events int) { s.telemetry.GpuEventsDropped.Add(context.Background(), int64(events), s.labels) }
	if options.Events {
		options.EventsDropped(0) // an increase from 0 is one, too
	}
	s.pipeline = pipeline.New(options)
	watcher, ok := source.(gpu.Watcher)
	if !ok || !options.Events {
		return
	}
	s.watcher = watcher
	if s.newRecorder != nil { // the metrics receiver reads the source, and the logs receiver sends what these reads find
		watcher.Watch(func(events []gpu.Event) {
			s.pipeline.AddEvents(events)
			s.events.wake()
		})
	}
}

// addLastEvents queues the events that the source has at the shutdown: those that an interrupted read has left, and those that came after it.
func (s *localScraper) addLastEvents() {
	if s.watcher != nil {
		s.pipeline.AddEvents(s.watcher.LastEvents())
	}
}

// read reads the source and passes the complete node to use, which must not keep it. It ends early when the receiver is shut
// down.
func (s *localScraper) read(ctx context.Context, use func(*gpu.Node)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Err() != nil {
		return
	}
	began := time.Now()
	host := s.currentHost()
	node, err := s.reader.Read(ctx, host)
	if s.closing.Err() != nil { // an interrupted read says nothing, except for what the source tells once
		if err == nil {
			s.pipeline.AddEvents(node.Events)
		}
		return
	}
	if err != nil {
		node = s.pipeline.Failed(host, scraperKinds[s.key].vendor, began, err)
	} else {
		if s.nodeLabels != nil {
			node.Problems = append(node.Problems, s.nodeLabels.Problems()...)
		}
		node.Problems = append(node.Problems, s.kernelLog.problems()...)
		s.pipeline.Take(ctx, node)
		s.status.update(s.key, node.RestartNeeded)
	}
	s.telemetry.GpuUnreadable.Record(ctx, int64(s.pipeline.Unreadable()), s.labels)
	s.events.wake()
	use(node)
}

// currentHost returns the machine with its labels as they are now.
func (s *localScraper) currentHost() gpu.Host {
	host := s.host
	if s.nodeLabels != nil {
		host.Labels = s.nodeLabels.Labels()
	}
	return host
}

// eventLogs takes the events that wait.
func (s *localScraper) eventLogs() plog.Logs {
	host := s.currentHost()
	return s.pipeline.Logs(&host)
}

// close releases the source. It does not wait for a read that hangs.
func (s *localScraper) close() error {
	if s.reader.Source == nil {
		return nil // never started
	}
	s.processes.Close()
	return s.reader.Source.Close()
}

// timedSource notes when the reads of a source begin and end.
type timedSource struct {
	gpu.Source
	stats    *readStats
	closing  context.Context
	optional bool // see pipeline.Options
}

// Read implements gpu.Source.
func (s timedSource) Read(ctx context.Context) (*gpu.Node, error) {
	began := time.Now()
	s.stats.begin(ctx)
	node, err := s.Source.Read(ctx)
	if s.closing.Err() != nil {
		return node, err // an interrupted read counts neither as good nor as failed
	}
	if err == nil && s.optional && !node.HasGPU() {
		node.Failure = nil // nobody asked for the vendor, and the machine has nothing of it to be read
	}
	s.stats.end(began, err == nil && node.Failure == nil)
	return node, err
}

// localProcesses describes processes by this machine's process table.
type localProcesses struct{ *process.Reader }

// Describe implements pipeline.Describer. A node with devices and without processes is described too: otherwise a problem of
// the process table would come and go with the processes.
func (p localProcesses) Describe(_ context.Context, node *gpu.Node) {
	if len(node.Devices) > 0 {
		p.Reader.Describe(node)
	}
}
