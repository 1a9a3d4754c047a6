// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pipeline"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/kube"
)

// instance is what the metrics and the logs exporter of one configuration share.
type instance struct {
	cfg    *Config
	logger *zap.Logger
	counts *counts

	signals map[pipeline.Signal]bool // of the exporters; all are made before the first start

	pods   *podUIDs
	noNode sync.Once // of the warning

	mu      sync.Mutex
	started bool
	failed  error // why the start failed
	events  *eventPoster
	nodes   *conditionPoster
}

func newInstance(cfg *Config, set exporter.Settings) (*instance, error) {
	kube.LogTo(set.Logger)
	counts, err := newCounts(set)
	if err != nil {
		return nil, err
	}
	return &instance{cfg: cfg, logger: set.Logger, counts: counts, signals: map[pipeline.Signal]bool{}, pods: newPodUIDs()}, nil
}

// start is called by each exporter. The first call opens the connection.
func (i *instance) start(context.Context, component.Host) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.started {
		i.started = true
		i.failed = i.open()
	}
	return i.failed
}

func (i *instance) open() error {
	config, err := i.cfg.API.REST()
	if err != nil {
		return err
	}
	clients, err := kube.NewClients(config)
	if err != nil {
		return err
	}
	for _, warning := range append(i.cfg.API.Warnings(), i.cfg.unused(i.signals)...) {
		i.logger.Warn(warning)
	}
	if i.cfg.Events.HasValue() {
		i.events = newEventPoster(clients.Kubernetes.CoreV1(), i.logger, i.counts)
		i.events.start()
	}
	if condition := i.cfg.NodeCondition.Get(); condition != nil {
		i.nodes = newConditionPoster(clients.Dynamic, i.cfg.NodeName, condition.UnknownAfter, i.logger, i.counts)
		i.nodes.start()
	}
	return nil
}

// Shutdown ends the posting.
func (i *instance) Shutdown(context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.events != nil {
		i.events.stop()
	}
	if i.nodes != nil {
		i.nodes.stop()
	}
	i.counts.telemetry.Shutdown()
	return nil
}

func (i *instance) consumeLogs(_ context.Context, logs plog.Logs) error {
	if i.events == nil {
		return nil
	}
	now := time.Now()
	for _, resource := range logs.ResourceLogs().All() {
		node, ok := i.cfg.nodeOf(resource.Resource().Attributes())
		if !ok {
			if !namesNode(resource.Resource().Attributes()) && hasGPUEvent(resource) {
				i.warnNoNode("logs")
			}
			continue
		}
		for _, scope := range resource.ScopeLogs().All() {
			for _, record := range scope.LogRecords().All() {
				i.events.add(eventsOf(node, record, i.pods, now))
			}
		}
	}
	return nil
}

func (i *instance) consumeMetrics(_ context.Context, metrics pmetric.Metrics) error {
	now := time.Now()
	for _, resource := range metrics.ResourceMetrics().All() {
		node, ok := i.cfg.nodeOf(resource.Resource().Attributes())
		if !ok {
			if !namesNode(resource.Resource().Attributes()) && hasGPUStatus(resource) {
				i.warnNoNode("metrics")
			}
			continue
		}
		i.pods.learn(resource.Resource().Attributes())
		if i.nodes != nil {
			i.nodes.add(node, resource, now)
		}
	}
	return nil
}

// warnNoNode warns once that nothing is posted of GPUs whose node is unknown.
func (i *instance) warnNoNode(signal string) {
	i.noNode.Do(func() {
		i.logger.Warn("GPU data without k8s.node.name is not posted to Kubernetes", zap.String("signal", signal),
			zap.String("remedy", "set attribution::node_name of the gpu receiver that sends the data; in a pod, set it to ${env:K8S_NODE_NAME}"))
	})
}
