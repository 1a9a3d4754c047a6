// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"fmt"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// fleetKey is the scraper that reads nodes from outside of them, on its own schedule.
const fleetKey = "kubernetes_exec"

func defaultFleetConfig() component.Config { cfg := kubeexec.DefaultConfig(); return &cfg }

// fleet sends what kubernetes_exec reads, node by node.
type fleet struct {
	cfg    *Config
	set    receiver.Settings
	logger *zap.Logger
	obs    *receiverhelper.ObsReport
	next   consumer.Metrics
	reader *kubeexec.Fleet // nil before start

	mu       sync.Mutex // guards what follows
	nodes    map[remoteKey]*remoteNode
	clusters map[string]*problemLog
}

// remoteKey is one vendor's GPUs of one node.
type remoteKey struct {
	cluster, node string
	vendor        gpu.Vendor
}

// remoteNode is what is kept of it. It is used by one goroutine at a time.
type remoteNode struct {
	recorder *record.Recorder
	problems *problemLog
}

func newFleet(cfg *Config, set receiver.Settings, next consumer.Metrics) (*fleet, error) {
	obs, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{ReceiverID: set.ID, ReceiverCreateSettings: set})
	if err != nil {
		return nil, err
	}
	return &fleet{
		cfg: cfg, set: set, logger: set.Logger.With(zap.String("scraper", fleetKey)), obs: obs, next: next,
		nodes: make(map[remoteKey]*remoteNode), clusters: make(map[string]*problemLog),
	}, nil
}

// Start implements component.Component. Only credentials that cannot be read are an error, not a cluster that does not
// answer.
func (f *fleet) Start(context.Context, component.Host) error {
	config := f.cfg.scraperConfig(fleetKey).(*kubeexec.Config)
	for _, warning := range config.Warnings() {
		f.logger.Warn(warning)
	}
	reader, err := kubeexec.New(config, kubeexec.Options{
		Interval: f.cfg.ControllerConfig.CollectionInterval,
		Timeout:  f.cfg.ControllerConfig.Timeout,
		Want:     record.Wanted(&f.cfg.Metrics, &f.cfg.Events, config.AttributePods),
		Sink:     f.send,
		Gone:     f.forget,
		Problems: f.explain,
	})
	if err != nil {
		return fmt.Errorf("%s::%s::%w", scrapersKey, fleetKey, err)
	}
	f.reader = reader
	reader.Start()
	return nil
}

// Shutdown implements component.Component.
func (f *fleet) Shutdown(context.Context) error {
	if f.reader == nil {
		return nil
	}
	return f.reader.Close()
}

// send records what was read of one node and hands it on: no message grows with the fleet.
func (f *fleet) send(ctx context.Context, cluster string, node *gpu.Node, readErr error) {
	n := f.node(remoteKey{cluster, node.Host.NodeName, node.Vendor})
	if readErr != nil {
		n.problems.add(gpu.Problem{What: "read", Err: readErr})
		return
	}
	node.CompleteIDs()
	keepLargest(node, f.cfg.MaxProcesses)
	n.problems.update(node.Problems, true)
	metrics := n.recorder.Record(node)
	points := metrics.DataPointCount()
	ctx = f.obs.StartMetricsOp(ctx)
	err := f.next.ConsumeMetrics(ctx, metrics)
	f.obs.EndMetricsOp(ctx, metadata.Type.String(), points, err)
}

func (f *fleet) node(key remoteKey) *remoteNode {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.nodes[key]
	if n == nil {
		n = &remoteNode{
			recorder: record.New(f.cfg.MetricsBuilderConfig, f.set),
			problems: newProblemLog(f.logger.With(zap.String("k8s.cluster.name", key.cluster), zap.String("k8s.node.name", key.node))),
		}
		f.nodes[key] = n
	}
	return n
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
