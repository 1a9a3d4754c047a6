// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// fleetKey is the scraper that reads nodes from outside of them, on its own schedule.
const fleetKey = "kubernetes_exec"

func defaultFleetConfig() component.Config { cfg := kubeexec.DefaultConfig(); return &cfg }

// fleet hands on what kubernetes_exec reads, node by node. The pipelines of one receiver share it.
type fleet struct {
	receiver  string // its ID
	cfg       *Config
	logger    *zap.Logger
	telemetry *metadata.TelemetryBuilder

	feedsMetrics, feedsLogs bool // there is such a pipeline; set before start

	mu       sync.Mutex // guards what follows
	begun    bool
	failed   error            // why it could not be started
	reader   fleetReader      // nil before start
	metrics  *metricsPipeline // nil until it has started
	logs     *logsPipeline    // nil until it has started
	nodes    map[remoteKey]*remoteNode
	clusters map[string]*problemLog
}

// fleetReader is a *kubeexec.Fleet but in tests.
type fleetReader interface {
	Start()
	Close() error
	Stats() []kubeexec.ClusterStats
}

// newFleet returns nil where the scraper is not configured.
func newFleet(cfg *Config, receiver string, logger *zap.Logger, telemetry *metadata.TelemetryBuilder) *fleet {
	if !slices.Contains(cfg.scraperKeys(), fleetKey) {
		return nil
	}
	return &fleet{
		receiver: receiver, cfg: cfg, logger: logger.With(zap.String("scraper", fleetKey)), telemetry: telemetry,
		nodes: make(map[remoteKey]*remoteNode), clusters: make(map[string]*problemLog),
	}
}

// start begins to read, once. Only credentials that cannot be read are an error, not a cluster that does not answer.
func (f *fleet) start() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.begun {
		return f.failed
	}
	f.begun = true
	config := *f.cfg.scraperConfig(fleetKey).(*kubeexec.Config)
	for _, warning := range config.Warnings() {
		f.logger.Warn(warning)
	}
	config.AttributePods = config.AttributePods && f.cfg.namesPods(f.feedsMetrics, f.feedsLogs)
	reader, err := kubeexec.New(&config, kubeexec.Options{
		Interval: f.cfg.ControllerConfig.CollectionInterval,
		Timeout:  f.cfg.ControllerConfig.Timeout,
		Want:     f.cfg.wanted(f.feedsMetrics, f.feedsLogs, config.AttributePods),
		Sink:     f.send,
		Gone:     f.forget,
		Problems: f.explain,
	})
	if err != nil {
		f.failed = fmt.Errorf("%s::%s::%w", scrapersKey, fleetKey, err)
		return f.failed
	}
	f.reader = reader
	reader.Start()
	return nil
}

// close ends the reading for all pipelines: what is behind the one that is shut down first takes no more.
func (f *fleet) close() error {
	f.mu.Lock()
	f.begun = true
	reader := f.reader
	f.mu.Unlock()
	if reader == nil {
		return nil
	}
	return reader.Close()
}

// stats tells how the reading goes; nothing before start.
func (f *fleet) stats() []kubeexec.ClusterStats {
	f.mu.Lock()
	reader := f.reader
	f.mu.Unlock()
	if reader == nil {
		return nil
	}
	return reader.Stats()
}

// send hands on what was read of one node: no message grows with the fleet.
func (f *fleet) send(ctx context.Context, cluster string, node *gpu.Node, readErr error) {
	n, metrics, logs := f.node(remoteKey{cluster, node.Host.NodeName, node.Vendor})
	if readErr != nil {
		n.problems.add(gpu.Problem{Kind: gpu.ProblemSource, What: "read", Err: readErr})
		return
	}
	node.CompleteIDs()
	changes := n.states.changes(node)
	n.problems.states(changes)
	if f.feedsLogs {
		n.waiting.add(node.Events...)
		n.waiting.add(changes...)
		n.waiting.add(n.processed.changes(node)...)
	}
	if dropped := keepLargest(node, f.cfg.MaxProcesses); dropped > 0 {
		f.telemetry.GpuProcessesDropped.Add(ctx, int64(dropped), labels(f.receiver, attribute.String("scraper", fleetKey)))
	}
	n.problems.update(node.Problems, true)
	if metrics != nil {
		metrics.send(ctx, n, node)
	}
	if logs != nil {
		logs.send(ctx, n, node)
	}
}

// node returns what is kept of a node, and the pipelines that have started.
func (f *fleet) node(key remoteKey) (*remoteNode, *metricsPipeline, *logsPipeline) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.nodes[key]
	if n == nil {
		n = &remoteNode{
			problems: newProblemLog(f.logger.With(
				zap.String("k8s.cluster.name", key.cluster), zap.String("k8s.node.name", key.node))),
			processed: f.cfg.newProcessWatch(),
		}
		f.nodes[key] = n
	}
	return n, f.metrics, f.logs
}

// forget drops what is kept of a node that is gone.
func (f *fleet) forget(cluster, node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, vendor := range []gpu.Vendor{gpu.NVIDIA, gpu.AMD} {
		delete(f.nodes, remoteKey{cluster, node, vendor})
	}
}

// explain logs what is wrong with a cluster. Each cluster calls it from one goroutine.
func (f *fleet) explain(cluster string, problems []gpu.Problem) {
	f.mu.Lock()
	log := f.clusters[cluster]
	if log == nil {
		log = newProblemLog(f.logger.With(zap.String("k8s.cluster.name", cluster)))
		f.clusters[cluster] = log
	}
	f.mu.Unlock()
	log.update(problems, true)
}
