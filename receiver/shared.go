// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/receiver"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/process"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// registry knows the shared part of each receiver. The collector makes a receiver of its own for each signal, all from the
// same configuration; they are to read each GPU once.
type registry struct {
	mu     sync.Mutex
	shared map[*Config]*shared
}

func newRegistry() *registry { return &registry{shared: make(map[*Config]*shared)} }

func (r *registry) get(cfg *Config, set receiver.Settings) (*shared, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.shared[cfg]; ok {
		s.users++
		return s, nil
	}
	s, err := newShared(cfg, set)
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
	cfg        *Config
	readings   []*reading
	attributor *attribution.Attributor // nil where nothing is to be attributed
	closing    context.Context         // cancelled as soon as one of the receivers is shut down for good
	cancel     context.CancelFunc
	forget     func()

	mu      sync.Mutex
	users   int // receivers made and not yet shut down
	started bool
}

func newShared(cfg *Config, set receiver.Settings) (*shared, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	s := &shared{cfg: cfg}
	s.closing, s.cancel = context.WithCancel(context.Background())
	want := record.Wanted(&cfg.Metrics, &cfg.Events, attributes(&cfg.Attribution))
	host, hostProblem := localHost(cfg)
	if hostProblem != nil {
		set.Logger.Warn("This machine has no name", zap.Error(hostProblem))
	}
	if attributes(&cfg.Attribution) {
		if s.attributor, err = attribution.New(cfg.Attribution); err != nil {
			return nil, err
		}
	}
	processes := processReader(cfg)
	for _, key := range cfg.scraperKeys() {
		source, err := scraperKinds[key].newSource(cfg.scraperConfig(key), want, cfg.ControllerConfig.CollectionInterval)
		if err != nil {
			return nil, fmt.Errorf("%s::%s::%w", scrapersKey, key, err)
		}
		s.readings = append(s.readings, &reading{
			scraper:      key,
			byDefault:    len(cfg.scrapers) == 0,
			source:       source,
			host:         host,
			processes:    processes,
			attributor:   s.attributor,
			maxProcesses: cfg.MaxProcesses,
			problems:     newProblemLog(set.Logger.With(zap.String("scraper", key))),
			telemetry:    telemetry,
			closing:      s.closing,
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

// start is called by each receiver before its controllers: it hands the host on to which a component's status is reported,
// and the first begins to watch the Kubernetes API.
func (s *shared) start(ctx context.Context, host component.Host) error {
	for _, r := range s.readings {
		r.setStatusReporter(func(e *componentstatus.Event) { componentstatus.ReportStatus(host, e) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attributor == nil || s.started {
		return nil
	}
	s.started = true
	return s.attributor.Start(ctx)
}

// release ends one receiver's use of the sources, and closes them with the last.
func (s *shared) release() error {
	s.mu.Lock()
	s.users--
	last := s.users == 0
	s.mu.Unlock()
	if !last {
		return nil
	}
	s.forget()
	s.cancel()
	var errs []error
	for _, r := range s.readings {
		errs = append(errs, r.close())
	}
	if s.attributor != nil {
		errs = append(errs, s.attributor.Close())
	}
	return errors.Join(errs...)
}
