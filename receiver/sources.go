// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
	"github.com/otelgpu/gpureceiver/internal/process"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// sources is what the metrics and the logs receiver of one configuration share.
type sources struct {
	receiver   string // its ID
	cfg        *Config
	logger     *zap.Logger
	open       opener
	telemetry  *metadata.TelemetryBuilder
	local      []*localScraper
	fleet      *fleet                  // nil without kubernetes_exec
	cluster    *clusterSource          // nil without kubernetes_cluster
	attributor *attribution.Attributor // nil before the start, and where nothing is attributed
	closing    context.Context         // ends when the first of the receivers is shut down
	cancel     context.CancelFunc
	forget     func()
	status     componentStatus

	// Set before the start. Nil where there is no receiver of the signal.
	newRecorder      func() *record.Recorder
	newEventRecorder func() *record.EventRecorder

	mu      sync.Mutex
	users   int // receivers that are not shut down
	started bool
	failed  error     // why the start failed
	stopped time.Time // when the first of the receivers was shut down
}

func newSources(cfg *Config, set receiver.Settings, open opener) (*sources, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	s := &sources{
		receiver: set.ID.String(), cfg: cfg, logger: set.Logger, open: open, telemetry: telemetry,
	}
	s.cluster = newClusterSource(cfg, set.Logger, &s.status, func() *record.EventRecorder { return s.newEventRecorder() })
	s.fleet = newFleet(cfg, set.ID.String(), set.Logger, telemetry, &s.status)
	s.closing, s.cancel = context.WithCancel(context.Background())
	host, hostErr := localHost(cfg)
	processes := processReader(cfg)
	for _, key := range cfg.scraperKeys() {
		if !scraperKinds[key].local() {
			continue
		}
		if hostErr != nil {
			set.Logger.Warn("No host name", zap.Error(hostErr))
			hostErr = nil
		}
		l := newLocalScraper(key, s.receiver, host, processes)
		l.telemetry, l.status, l.closing = telemetry, &s.status, s.closing
		s.local = append(s.local, l)
	}
	return s, nil
}

// processReader returns the reader of this machine's process table.
func processReader(cfg *Config) *process.Reader {
	var options []process.Option
	if cfg.ResourceAttributes.ProcessCommandLine.Enabled {
		options = append(options, process.WithCommandLine())
	}
	p := cfg.Attribution.Processes
	if p == nil {
		return process.New("", options...)
	}
	return p.Reader(options...)
}

// start is called by each receiver before its controllers. The first call opens the sources, because only then all receivers
// have been made and it is known what to read, and connects to the Kubernetes API.
func (s *sources) start(ctx context.Context, host component.Host) error {
	s.status.reportTo(host)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		s.started = true
		s.failed = s.begin(ctx)
	}
	return s.failed
}

func (s *sources) begin(ctx context.Context) error {
	if s.cfg.usesKubernetes() {
		kube.LogTo(s.logger)
	}
	if err := s.openSources(); err != nil {
		return err
	}
	if err := s.attribute(ctx); err != nil {
		return err
	}
	return s.readMetrics().observe(s.telemetry)
}

func (s *sources) readMetrics() *readMetrics {
	return &readMetrics{receiver: s.receiver, local: s.local, fleet: s.fleet, cluster: s.cluster}
}

// openSources opens the source of each local scraper to read what the receivers send.
func (s *sources) openSources() error {
	metrics, logs := s.newRecorder != nil, s.newEventRecorder != nil
	want := s.cfg.wanted(metrics, logs, s.cfg.attributes())
	for _, l := range s.local {
		source, err := s.open(l.key, s.cfg, want)
		if err != nil {
			return fmt.Errorf("%s::%s::%w", scrapersKey, l.key, err)
		}
		l.begin(source, pipeline.Options{
			Source:   l.key,
			Logger:   s.logger.With(zap.String("scraper", l.key)),
			Optional: len(s.cfg.Scrapers) == 0,
			Events:   logs, ProcessEvents: s.cfg.sendsProcessEvents(), MaxProcesses: s.cfg.MaxProcesses,
			NewRecorder: s.newRecorder, NewEventRecorder: s.newEventRecorder,
		})
	}
	return nil
}

// attribute starts attribution for the local scrapers if the configuration has it and something that is sent names pods.
func (s *sources) attribute(ctx context.Context) error {
	cfg := &s.cfg.Attribution
	if len(s.local) == 0 || !s.cfg.attributes() || !s.cfg.sendsPods(s.newRecorder != nil, s.newEventRecorder != nil) {
		return nil
	}
	for _, warning := range cfg.Warnings() {
		s.logger.Warn("attribution::owners: " + warning)
	}
	attributor, err := attribution.New(*cfg, s.cfg.ControllerConfig.CollectionInterval)
	if err != nil {
		return err
	}
	s.attributor = attributor
	for _, l := range s.local {
		l.reader.Attributor = attributor
	}
	return attributor.Start(ctx)
}

// stop cancels all reads and returns when the first of the receivers did so.
func (s *sources) stop() time.Time {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped.IsZero() {
		s.stopped = time.Now()
	}
	return s.stopped
}

// leave ends one receiver's use of the sources and reports whether it was the last one, which has to close them.
func (s *sources) leave() bool {
	s.mu.Lock()
	s.users--
	last := s.users == 0
	s.mu.Unlock()
	if last {
		s.forget()
	}
	return last
}

// close releases all sources side by side: each may have to wait a moment for calls that are about to return.
func (s *sources) close() error {
	s.cancel()
	s.telemetry.Shutdown()
	errs := make([]error, len(s.local))
	var closing sync.WaitGroup
	for i, l := range s.local {
		closing.Go(func() { errs[i] = l.close() })
	}
	closing.Wait()
	if s.attributor != nil {
		errs = append(errs, s.attributor.Close())
	}
	return errors.Join(errs...)
}

// opener makes the source of a configured scraper. It is openSource, except in tests.
type opener func(key string, cfg *Config, want gpu.Group) (gpu.Source, error)

func openSource(key string, cfg *Config, want gpu.Group) (gpu.Source, error) {
	return scraperKinds[key].newSource(cfg.scraperConfig(key), want, cfg.ControllerConfig.CollectionInterval)
}
