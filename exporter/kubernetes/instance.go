// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/kube"
)

// instance is what the metrics and the logs exporter of one configuration share.
type instance struct {
	cfg    *Config
	logger *zap.Logger
	forget func()

	pods *podUIDs

	mu      sync.Mutex
	users   int // exporters that are not shut down
	started bool
	failed  error // why the start failed
	events  *eventPoster
	nodes   *conditionPoster
}

func newInstance(cfg *Config, telemetry component.TelemetrySettings) *instance {
	return &instance{cfg: cfg, logger: telemetry.Logger, pods: newPodUIDs()}
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
	kube.LogTo(i.logger)
	config, err := i.cfg.API.REST()
	if err != nil {
		return err
	}
	clients, err := kube.NewClients(config)
	if err != nil {
		return err
	}
	for _, warning := range i.cfg.API.Warnings() {
		i.logger.Warn(warning)
	}
	if i.cfg.Events.HasValue() {
		i.events = newEventPoster(clients.Kubernetes.CoreV1(), i.logger)
		i.events.start()
	}
	if condition := i.cfg.NodeCondition.Get(); condition != nil {
		i.nodes = newConditionPoster(clients.Dynamic, i.cfg.NodeName, condition.UnknownAfter, i.logger)
		i.nodes.start()
	}
	return nil
}

// shutdown is called by each exporter. The last call ends the posting.
func (i *instance) shutdown(context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.users--
	if i.users > 0 {
		return nil
	}
	i.forget()
	if i.events != nil {
		i.events.stop()
	}
	if i.nodes != nil {
		i.nodes.stop()
	}
	return nil
}

func (i *instance) consumeLogs(_ context.Context, logs plog.Logs) error {
	if i.events == nil {
		return nil
	}
	now := time.Now()
	for _, of := range logs.ResourceLogs().All() {
		node, ok := i.cfg.nodeOf(of.Resource().Attributes())
		if !ok {
			continue
		}
		for _, scope := range of.ScopeLogs().All() {
			for _, record := range scope.LogRecords().All() {
				i.events.add(eventsOf(node, record, i.pods, now))
			}
		}
	}
	return nil
}

func (i *instance) consumeMetrics(_ context.Context, metrics pmetric.Metrics) error {
	now := time.Now()
	for _, of := range metrics.ResourceMetrics().All() {
		node, ok := i.cfg.nodeOf(of.Resource().Attributes())
		if !ok {
			continue
		}
		i.pods.learn(of.Resource().Attributes())
		if i.nodes != nil {
			i.nodes.add(node, of, now)
		}
	}
	return nil
}
