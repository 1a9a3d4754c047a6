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
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/process"
)

// registry knows the shared part of each receiver. The collector makes a receiver of its own for each signal, all from the
// same configuration; they are to read each GPU once.
type registry struct {
	open opener

	mu     sync.Mutex
	shared map[*Config]*shared
}

func newRegistry(open opener) *registry {
	return &registry{open: open, shared: make(map[*Config]*shared)}
}

func (r *registry) get(cfg *Config, set receiver.Settings) (*shared, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.shared[cfg]; ok {
		s.users++
		return s, nil
	}
	s, err := newShared(cfg, set, r.open)
	if err != nil {
		return nil, err
	}
	s.forget = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.shared, cfg)
	}
	s.users = 1
	r.shared[cfg] = s
	return s, nil
}

// shared is what the metrics and the logs pipeline of one receiver have in common: one reading for each scraper.
type shared struct {
	receiver   string // its ID
	cfg        *Config
	logger     *zap.Logger
	open       opener
	telemetry  *metadata.TelemetryBuilder
	readings   []*reading
	fleet      *fleet                  // nil where no node is read from outside
	cluster    *readStats              // nil where the requests of a cluster are not shown
	attributor *attribution.Attributor // nil before start, and where nothing is to be attributed
	closing    context.Context         // cancelled as soon as one of the receivers is shut down for good
	cancel     context.CancelFunc
	forget     func()
	health     health

	feedsMetrics, feedsLogs bool // there is such a pipeline; set before start

	mu      sync.Mutex
	users   int // receivers made and not yet shut down
	started bool
	failed  error     // why it could not be started
	stopped time.Time // when the first of them was shut down
}

func newShared(cfg *Config, set receiver.Settings, open opener) (*shared, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	s := &shared{
		receiver: set.ID.String(), cfg: cfg, logger: set.Logger, open: open, telemetry: telemetry,
		fleet: newFleet(cfg, set.ID.String(), set.Logger, telemetry),
	}
	s.closing, s.cancel = context.WithCancel(context.Background())
	host, hostProblem := localHost(cfg)
	processes := processReader(cfg)
	for _, key := range cfg.scraperKeys() {
		if key == clusterKey || key == fleetKey {
			continue
		}
		if hostProblem != nil {
			set.Logger.Warn("This machine has no name", zap.Error(hostProblem))
			hostProblem = nil
		}
		s.readings = append(s.readings, &reading{
			receiver:     s.receiver,
			scraper:      key,
			byDefault:    len(cfg.scrapers) == 0,
			host:         host,
			processes:    processes,
			maxProcesses: cfg.MaxProcesses,
			problems:     newProblemLog(set.Logger.With(zap.String("scraper", key))),
			telemetry:    telemetry,
			health:       &s.health,
			closing:      s.closing,
			processed:    cfg.newProcessWatch(),
		})
	}
	return s, nil
}

// attributes tells whether anything is to be attributed; a name for the node alone is none of it.
func attributes(cfg *attribution.Config) bool {
	return cfg.PodResources != nil || cfg.Processes != nil || cfg.Owners != nil
}

// processReader reads what the machine tells of a process.
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

// start is called by each receiver before its controllers: it hands the host on to which a component's status is reported.
// The first opens the sources, as by then it is known which pipelines there are, and begins to watch the Kubernetes API.
func (s *shared) start(ctx context.Context, host component.Host) error {
	s.health.tell(host)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		s.started = true
		s.failed = s.begin(ctx)
	}
	return s.failed
}

func (s *shared) begin(ctx context.Context) error {
	if s.cfg.usesKubernetes() {
		kube.LogTo(s.logger)
	}
	if err := s.openSources(); err != nil {
		return err
	}
	if err := s.attribute(ctx); err != nil {
		return err
	}
	return s.observe()
}

// openSources makes the source of each scraper, to read what the pipelines need.
func (s *shared) openSources() error {
	want := s.cfg.wanted(s.feedsMetrics, s.feedsLogs, attributes(&s.cfg.Attribution))
	for _, r := range s.readings {
		source, err := s.open(r.scraper, s.cfg, want)
		if err != nil {
			return fmt.Errorf("%s::%s::%w", scrapersKey, r.scraper, err)
		}
		r.source = source
	}
	return nil
}

// attribute begins to attribute what is read, where what is sent names pods.
func (s *shared) attribute(ctx context.Context) error {
	cfg := &s.cfg.Attribution
	if len(s.readings) == 0 || !s.cfg.namesPods(s.feedsMetrics, s.feedsLogs) || !attributes(cfg) {
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
	for _, r := range s.readings {
		r.attributor = attributor
	}
	return attributor.Start(ctx)
}

// stop cancels all reads, and tells when the first of the receivers did so.
func (s *shared) stop() time.Time {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped.IsZero() {
		s.stopped = time.Now()
	}
	return s.stopped
}

// leave ends one receiver's use of the sources, and tells whether it was the last, which has to close them.
func (s *shared) leave() bool {
	s.mu.Lock()
	s.users--
	last := s.users == 0
	s.mu.Unlock()
	if last {
		s.forget()
	}
	return last
}

// close releases all sources at the same time: each may have to wait a moment for calls that are about to return.
func (s *shared) close() error {
	s.cancel()
	s.telemetry.Shutdown()
	errs := make([]error, len(s.readings))
	var closing sync.WaitGroup
	for i, r := range s.readings {
		closing.Go(func() { errs[i] = r.close() })
	}
	closing.Wait()
	if s.attributor != nil {
		errs = append(errs, s.attributor.Close())
	}
	return errors.Join(errs...)
}
