// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/process"
)

// machine is the machine of the collector: the scrapers of its GPUs, and what they have in common.
type machine struct {
	*shared
	host       gpu.Host                // without labels: see currentHost
	processes  *process.Reader         // nil if no scraper reads GPUs of this machine; then the fields below are nil, too
	nodeLabels *kube.NodeLabels        // nil: none are sent
	attributor *attribution.Attributor // nil: nothing is attributed
	kernelLog  *kernelLog              // nil: it is not followed
	local      []*localScraper

	mu      sync.Mutex
	without map[*localScraper]bool // the scrapers that found no GPU at their first read; nil: it was logged
}

// newMachine opens the source of each local scraper to read what the receivers send, and connects to the Kubernetes API. With an error it returns
// what could be opened.
func newMachine(ctx context.Context, s *shared, open opener) (*machine, error) {
	m := &machine{shared: s, without: map[*localScraper]bool{}}
	keys := slices.DeleteFunc(slices.Clone(s.cfg.scraperKeys()), func(key string) bool { return !scraperKinds[key].local() })
	if len(keys) == 0 {
		return m, nil
	}
	var hostErr, labelsErr, attributionErr error
	if m.host, hostErr = localHost(s.cfg); hostErr != nil {
		s.logger.Warn("No host name", zap.Error(hostErr))
	}
	for _, warning := range s.cfg.Attribution.Warnings() {
		s.logger.Warn(warning)
	}
	m.processes = processReader(s.cfg)
	m.nodeLabels, labelsErr = newNodeLabels(ctx, s)
	m.attributor, attributionErr = newAttributor(ctx, s)
	m.kernelLog = newKernelLog(m)
	errs := []error{labelsErr, attributionErr}
	want := s.cfg.groups(s.metrics != nil, s.logs != nil, s.cfg.attributes())
	for _, key := range keys {
		source, err := open(key, s.cfg, want)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s::%s::%w", scrapersKey, key, err))
			continue
		}
		m.local = append(m.local, newLocalScraper(ctx, m, key, source, want))
	}
	m.kernelLog.start()
	return m, errors.Join(errs...)
}

// localHost returns the names of this machine. The hostname of a pod is not the machine's, so in a pod only the configured
// node name counts.
func localHost(cfg *Config) (gpu.Host, error) {
	host := gpu.Host{
		Name:        cfg.Attribution.NodeName,
		NodeName:    cfg.Attribution.NodeName,
		ClusterName: cfg.Attribution.ClusterName,
	}
	if host.Name != "" {
		return host, nil
	}
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return host, errors.New("running in a pod without attribution::node_name: host.name and k8s.node.name are absent, " +
			"so nodes cannot be distinguished; set it to ${env:K8S_NODE_NAME}, from the downward API's spec.nodeName")
	}
	name, err := os.Hostname()
	if err != nil {
		return host, fmt.Errorf("read the hostname for host.name: %w; set attribution::node_name", err)
	}
	host.Name = name
	return host, nil
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

// newNodeLabels begins to read the labels of this node if the configuration has it. It waits a moment for the first answer, so that
// the first data have them.
func newNodeLabels(ctx context.Context, s *shared) (*kube.NodeLabels, error) {
	cfg := s.cfg.Attribution.NodeLabels
	if cfg == nil {
		return nil, nil
	}
	clients, err := connect(&cfg.API)
	if err != nil {
		return nil, kube.Keyed("attribution::node_labels", err)
	}
	nodeLabels := kube.NewNodeLabels(clients, s.cfg.Attribution.NodeName, cfg.Labels)
	ctx, cancel := context.WithTimeout(ctx, s.waits.nodeLabels)
	defer cancel()
	nodeLabels.Start(ctx)
	return nodeLabels, nil
}

// newAttributor starts attribution if the configuration has it and something that is sent names pods.
func newAttributor(ctx context.Context, s *shared) (*attribution.Attributor, error) {
	cfg := &s.cfg.Attribution
	if !s.cfg.attributes() || !s.cfg.sendsPods(s.metrics != nil, s.logs != nil, true) {
		return nil, nil
	}
	attributor, err := attribution.New(*cfg, s.cfg.ControllerConfig.CollectionInterval, attribution.WithLogger(s.logger))
	if err != nil {
		return nil, err
	}
	return attributor, attributor.Start(ctx)
}

// readWithoutGPU logs once if no scraper of this machine has found a GPU. What is configured has a warning of its own.
func (m *machine) readWithoutGPU(s *localScraper, node *gpu.Node) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.without == nil || len(m.cfg.Scrapers) > 0 || node.HasGPU() {
		return
	}
	if m.without[s] = true; len(m.without) == len(m.local) {
		m.without = nil
		m.logger.Info("No GPU found on this machine", zap.String("what", "GPUs"),
			zap.String("reason", "no NVIDIA or AMD GPU is on the PCI bus; otelgpu doctor says what was looked for"))
	}
}

// currentHost returns the machine with its labels as they are now.
func (m *machine) currentHost() gpu.Host {
	host := m.host
	if m.nodeLabels != nil {
		host.Labels = m.nodeLabels.Labels()
	}
	return host
}

// addLastEvents queues the events that the sources have at the shutdown: those that an interrupted read has left, and those that came after it.
func (m *machine) addLastEvents() {
	for _, l := range m.local {
		if l.watcher != nil {
			l.pipeline.AddEvents(l.watcher.LastEvents())
		}
	}
}

// close releases all sources side by side: each may have to wait a moment for calls that are about to return. It does not wait for a read that
// hangs.
func (m *machine) close() error {
	m.cancel()
	m.kernelLog.close()
	m.telemetry.Shutdown()
	if m.processes != nil {
		m.processes.Close()
	}
	errs := make([]error, len(m.local))
	var closing sync.WaitGroup
	for i, l := range m.local {
		closing.Go(func() { errs[i] = l.reader.Source.Close() })
	}
	closing.Wait()
	if m.attributor != nil {
		errs = append(errs, m.attributor.Close())
	}
	if m.nodeLabels != nil {
		m.nodeLabels.Stop()
	}
	return errors.Join(errs...)
}

// opener makes the source of a configured scraper. It is openSource, except in tests.
type opener func(key string, cfg *Config, want gpu.Group) (gpu.Source, error)

func openSource(key string, cfg *Config, want gpu.Group) (gpu.Source, error) {
	return scraperKinds[key].newSource(cfg.scraperConfig(key), want, cfg.ControllerConfig.CollectionInterval)
}
