// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/otel/attribute"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/pci"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
	"github.com/otelgpu/gpureceiver/internal/process"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// shared is what the sources of all scrapers have in common.
type shared struct {
	receiver  string // its ID
	cfg       *Config
	logger    *zap.Logger
	waits     waits
	telemetry *metadata.TelemetryBuilder
	keeper    *keeper         // nil without storage
	closing   context.Context // ends when the first of the receivers is shut down
	status    componentStatus

	// Set when the receiver of the signal is made, which is before the start of any receiver. Nil without one.
	newRecorder      func() *record.Recorder
	newEventRecorder func() *record.EventRecorder
}

// sources is what the metrics and the logs receiver of one configuration share.
type sources struct {
	*shared
	open       opener
	local      []*localScraper
	fleet      *fleet                  // nil without kubernetes_exec
	cluster    *clusterSource          // nil without kubernetes_cluster
	attributor *attribution.Attributor // nil before the start, and where nothing is attributed
	nodeLabels *kube.NodeLabels        // nil before the start, and where none are sent
	kernelLog  *kernelLog              // nil before the start, and where it is not followed
	gate       *consumerGate           // in front of the consumers of all receivers
	receivers  []*controllers          // one of each signal
	cancel     context.CancelFunc      // ends closing

	stopping sync.Once // see stop

	mu      sync.Mutex
	started bool
	failed  error     // why the start failed
	stopped time.Time // when the first of the receivers was shut down
}

func newSources(cfg *Config, set receiver.Settings, open opener, waits waits) (*sources, error) {
	if cfg.usesKubernetes() {
		kube.LogTo(set.Logger)
	}
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	closing, cancel := context.WithCancel(context.Background())
	common := &shared{
		receiver: set.ID.String(), cfg: cfg, logger: set.Logger, waits: waits, telemetry: telemetry,
		keeper: newKeeper(cfg, set, telemetry, waits), closing: closing,
	}
	ofCluster := labels(common.receiver, attribute.String("scraper", clusterKey))
	s := &sources{
		shared: common, open: open, gate: newConsumerGate(), cancel: cancel, fleet: newFleet(common),
		cluster: newClusterSource(common, func(events int) { telemetry.GpuEventsDropped.Add(context.Background(), int64(events), ofCluster) }),
	}
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
		s.local = append(s.local, newLocalScraper(common, key, host, processes))
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
	if !s.stopped.IsZero() {
		return errShut // nothing would end what starts now
	}
	if !s.started {
		s.started = true
		s.failed = s.begin(ctx, host)
	}
	return s.failed
}

func (s *sources) begin(ctx context.Context, host component.Host) error {
	if err := s.openStorage(ctx, host); err != nil {
		return err
	}
	if err := s.openSources(ctx); err != nil {
		return err
	}
	for _, warning := range s.cfg.Attribution.Warnings() {
		s.logger.Warn(warning)
	}
	if err := s.readNodeLabels(ctx); err != nil {
		return err
	}
	if err := s.attribute(ctx); err != nil {
		return err
	}
	s.followKernelLog()
	return s.readMetrics().observe(s.telemetry)
}

func (s *sources) readMetrics() *readMetrics {
	return &readMetrics{receiver: s.receiver, local: s.local, fleet: s.fleet, cluster: s.cluster}
}

// openSources opens the source of each local scraper to read what the receivers send.
func (s *sources) openSources(ctx context.Context) error {
	metrics, logs := s.newRecorder != nil, s.newEventRecorder != nil
	want := s.cfg.wanted(metrics, logs, s.cfg.attributes())
	for _, l := range s.local {
		source, err := s.open(l.key, s.cfg, want)
		if err != nil {
			return fmt.Errorf("%s::%s::%w", scrapersKey, l.key, err)
		}
		if want.Has(gpu.GroupPCIeErrors) {
			l.reader.Bus = pci.NewErrorReader(s.cfg.sysfs(l.key))
		}
		l.begin(source, pipeline.Options{
			Source:    l.key,
			Logger:    s.logger.With(zap.String("scraper", l.key)),
			Optional:  len(s.cfg.Scrapers) == 0,
			KernelLog: s.cfg.followsKernelLog(l.key), Vendor: scraperKinds[l.key].vendor, Sys: s.cfg.kernelSysfs(),
			Events: logs, ProcessEvents: s.cfg.sendsProcessEvents(), AllocationEvents: s.cfg.sendsAllocations(),
			Interval: s.cfg.ControllerConfig.CollectionInterval, MaxProcesses: s.cfg.MaxProcesses, ThrottledAfter: s.cfg.ThrottledAfter,
			Executable:  l.processes.Executable,
			LogRead:     func() bool { return s.kernelLog.reading() }, // it is followed when all sources are open
			Wake:        func() { l.events.wake() },
			NewRecorder: s.newRecorder, NewEventRecorder: s.newEventRecorder,
			Keep: s.keeper.isOpen(), Known: s.keeper.known(ctx, l.key),
		})
	}
	return nil
}

// openStorage opens the storage where a logs pipeline wants the events, and has the pipelines that there are go on with what it has.
func (s *sources) openStorage(ctx context.Context, host component.Host) error {
	if s.keeper == nil {
		return nil
	}
	if s.newEventRecorder == nil {
		s.logger.Warn(storageKey + ": has no effect: it keeps events, and the receiver is in no logs pipeline; add the receiver to one, or leave storage out")
		return nil
	}
	if err := s.keeper.open(ctx, host); err != nil {
		return err
	}
	if s.cluster != nil {
		s.cluster.pipeline.Restore(s.keeper.known(ctx, clusterKey))
	}
	return s.keeper.observe()
}

// attribute starts attribution for the local scrapers if the configuration has it and something that is sent names pods.
func (s *sources) attribute(ctx context.Context) error {
	cfg := &s.cfg.Attribution
	if len(s.local) == 0 || !s.cfg.attributes() || !s.cfg.sendsPods(s.newRecorder != nil, s.newEventRecorder != nil, true) {
		return nil
	}
	attributor, err := attribution.New(*cfg, s.cfg.ControllerConfig.CollectionInterval, attribution.WithLogger(s.logger))
	if err != nil {
		return err
	}
	s.attributor = attributor
	for _, l := range s.local {
		l.reader.Attributor = attributor
	}
	return attributor.Start(ctx)
}

// readNodeLabels begins to read the labels of this node if the configuration has it. It waits a moment for the first answer, so that
// the first data have them.
func (s *sources) readNodeLabels(ctx context.Context) error {
	cfg := s.cfg.Attribution.NodeLabels
	if len(s.local) == 0 || cfg == nil {
		return nil
	}
	rest, err := cfg.API.REST()
	if err != nil {
		return kube.Keyed("attribution::node_labels", err)
	}
	clients, err := kube.NewClients(rest)
	if err != nil {
		return kube.Keyed("attribution::node_labels", err)
	}
	s.nodeLabels = kube.NewNodeLabels(clients, s.cfg.Attribution.NodeName, cfg.Labels)
	ctx, cancel := context.WithTimeout(ctx, s.waits.nodeLabels)
	defer cancel()
	s.nodeLabels.Start(ctx)
	for _, l := range s.local {
		l.nodeLabels = s.nodeLabels
	}
	return nil
}

// stop ends the reads and the deliveries of all receivers. Only the first call does something.
//
// The Collector stops the components of a pipeline in the order in which data passes through them, and those of two pipelines in any order. Two
// pipelines may share an exporter: the file exporter is one object for metrics and logs, and it is closed when the first of the two has stopped. So no
// receiver may deliver after the first of them was shut down. Until then the consumers of all of them accept data, also the last events.
//
// Receivers of other configurations, such as gpu/a beside gpu/b, go on: an exporter that they share gets data from receivers of other types, too.
func (s *sources) stop(ctx context.Context) (err error) {
	s.stopping.Do(func() {
		s.mu.Lock()
		s.stopped = time.Now()
		s.mu.Unlock()
		s.cancel()
		s.kernelLog.close()
		err = s.end(ctx)
	})
	return err
}

// end ends all receivers side by side, sends the last events, and closes the gate. scraperhelper waits for the running scrape without
// cancelling it, and a scrape may hang in the driver or in a consumer: it is waited for no longer than waits.read, and deliveries no longer than
// waits.release.
func (s *sources) end(ctx context.Context) error {
	readsEnd, deliveriesEnd := s.stopped.Add(s.waits.read), s.stopped.Add(s.waits.release)
	errs, ended := make([]error, len(s.receivers)), make([]bool, len(s.receivers))
	var ending sync.WaitGroup
	for i, c := range s.receivers {
		ending.Go(func() {
			errs[i], ended[i] = endBy(readsEnd, s.waits.later, func() error { return c.end(ctx) })
		})
	}
	ending.Wait()
	_, asked := endBy(readsEnd, s.waits.later, func() error { s.addLastEvents(); return nil })
	for i, c := range s.receivers {
		if ended[i] { // otherwise its consumer may hang
			var err error
			err, ended[i] = endBy(deliveriesEnd, s.waits.later, func() error { return c.sendLast(ctx) })
			errs = append(errs, err)
		}
	}
	s.gate.close()
	_, delivered := endBy(deliveriesEnd, s.waits.later, s.gate.wait)
	switch {
	case !delivered:
		s.logger.Warn("Delivery did not end before the shutdown", zap.String("reason", "a component of a pipeline may hang"))
	case !asked, slices.Contains(ended, false):
		s.logger.Warn("Read did not end before the shutdown", zap.String("reason", "a call to the driver may hang"))
	}
	return errors.Join(errs...)
}

func (s *sources) addLastEvents() {
	for _, l := range s.local {
		l.addLastEvents()
	}
}

// Shutdown closes the sources after stop, and waits no longer than waits.release for a call that hangs.
func (s *sources) Shutdown(context.Context) error {
	err, ended := endBy(s.stopped.Add(s.waits.release), s.waits.later, s.close)
	if !ended {
		s.logger.Warn("Driver was not released before the shutdown", zap.String("reason", "a call to the driver may hang"))
	}
	return err
}

// close releases all sources side by side: each may have to wait a moment for calls that are about to return.
func (s *sources) close() error {
	s.cancel()
	s.kernelLog.close()
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
	if s.nodeLabels != nil {
		s.nodeLabels.Stop()
	}
	errs = append(errs, s.keeper.close())
	return errors.Join(errs...)
}

// opener makes the source of a configured scraper. It is openSource, except in tests.
type opener func(key string, cfg *Config, want gpu.Group) (gpu.Source, error)

func openSource(key string, cfg *Config, want gpu.Group) (gpu.Source, error) {
	return scraperKinds[key].newSource(cfg.scraperConfig(key), want, cfg.ControllerConfig.CollectionInterval)
}
