// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/pci"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
	"github.com/otelgpu/gpureceiver/internal/process"
)

// localScraper reads one source on this machine. The metrics and the logs receiver of one configuration share it.
type localScraper struct {
	*machine
	key      string // below scrapers, and the value of the attribute scraper
	labels   metric.MeasurementOption
	stats    *readStats
	pipeline *pipeline.Pipeline
	watcher  gpu.Watcher // nil if the source learns of no events between reads, or there is no logs receiver

	mu     sync.Mutex // one read at a time
	reader pipeline.Reader
	found  bool // the log has a line on what this scraper has found
}

// newLocalScraper returns the scraper of a source.
func newLocalScraper(ctx context.Context, m *machine, key string, source gpu.Source, want gpu.Group) *localScraper {
	options := m.options(key)
	options.Logger = m.logger.With(zap.String("scraper", key))
	options.Optional = len(m.cfg.Scrapers) == 0
	options.KernelLog, options.LogRead = m.cfg.followsKernelLog(key), m.kernelLog.reading
	options.Vendor, options.Sys = scraperKinds[key].vendor, m.cfg.kernelSysfs()
	options.Executable = m.processes.Executable
	options.EventsDropped = m.eventsDropped(attribute.String("scraper", key))
	options.Known = m.keeper.known(ctx, key)
	s := &localScraper{
		machine: m, key: key, labels: labels(m.receiver, attribute.String("scraper", key)), stats: new(readStats), pipeline: pipeline.New(options),
	}
	s.reader.Source = timedSource{Source: source, stats: s.stats, closing: m.closing, optional: options.Optional}
	s.reader.Processes = localProcesses{m.processes}
	if want.Has(gpu.GroupPCIeErrors) {
		s.reader.Bus = pci.NewErrorReader(m.cfg.sysfs(key))
	}
	if m.attributor != nil {
		s.reader.Attributor = m.attributor
	}
	if watcher, ok := source.(gpu.Watcher); ok && m.logs != nil {
		s.watcher = watcher
		if m.metrics != nil { // otherwise the logs receiver reads the source, and sends what each read has found
			watcher.Watch(s.pipeline.AddEvents)
		}
	}
	return s
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
	start := time.Now()
	host := s.currentHost()
	node, err := s.reader.Read(ctx, host)
	if s.closing.Err() != nil { // an interrupted read says nothing, except for what the source tells once
		if err == nil {
			s.pipeline.AddEvents(node.Events)
		}
		return
	}
	if err != nil {
		node = s.pipeline.Failed(host, scraperKinds[s.key].vendor, start, err)
	} else {
		if s.nodeLabels != nil {
			node.Problems = append(node.Problems, s.nodeLabels.Problems()...)
		}
		node.Problems = append(node.Problems, s.kernelLog.problems(s.key)...)
		s.pipeline.Take(ctx, node)
		s.logFound(node)
		s.status.update(s.key, node.RestartNeeded)
	}
	s.telemetry.GpuUnreadable.Record(ctx, int64(s.pipeline.Unreadable()), s.labels)
	use(node)
}

// logFound logs once which GPUs are read.
func (s *localScraper) logFound(node *gpu.Node) {
	if s.found {
		return
	}
	var models, drivers []string
	counts := map[string]int{}
	for i := range node.Devices {
		d := &node.Devices[i]
		if d.Parent != "" || d.Unread {
			continue
		}
		model := cmp.Or(gpu.CleanText(d.Model), string(d.Vendor)+" GPU")
		if counts[model]++; counts[model] == 1 {
			models = append(models, model)
		}
		if driver := gpu.CleanText(d.Info.DriverVersion); driver != "" && !slices.Contains(drivers, driver) {
			drivers = append(drivers, driver)
		}
	}
	if len(models) == 0 {
		s.machine.readWithoutGPU(s, node)
		return
	}
	s.found = true
	for i, model := range models {
		models[i] = fmt.Sprintf("%d %s", counts[model], model)
	}
	message := "Reading " + strings.Join(models, ", ")
	if len(drivers) > 0 {
		message += " (driver " + strings.Join(drivers, ", ") + ")"
	}
	s.logger.Info(message, zap.String("scraper", s.key))
}

func (s *localScraper) scrapeMetrics(ctx context.Context) (pmetric.Metrics, error) {
	metrics := pmetric.NewMetrics()
	s.read(ctx, func(node *gpu.Node) { metrics = s.pipeline.Metrics(node) })
	return metrics, nil
}

// timedSource notes when the reads of a source begin and end. If its scraper is not configured, a machine without GPUs of its vendor is not a failure.
type timedSource struct {
	gpu.Source
	stats    *readStats
	closing  context.Context
	optional bool // see pipeline.Options
}

// Read implements gpu.Source.
func (s timedSource) Read(ctx context.Context) (*gpu.Node, error) {
	start := time.Now()
	s.stats.begin(ctx)
	node, err := s.Source.Read(ctx)
	if s.closing.Err() != nil {
		return node, err // an interrupted read counts neither as good nor as failed
	}
	if err == nil && s.optional && !node.HasGPU() {
		node.Failure = nil // the vendor is not configured, and the machine has nothing of it to be read
	}
	s.stats.end(start, err == nil && node.Failure == nil)
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
