// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// clusterSource is the state of kubernetes_cluster. The metrics receiver, which reads, and the logs receiver share it.
type clusterSource struct {
	stats  readStats
	host   gpu.Host
	status *componentStatus
	events *pipeline.Pipeline // of the cluster's state; the metrics are the recorder's
}

// newClusterSource returns nil where kubernetes_cluster is not configured. newEvents is called before the first event is sent.
func newClusterSource(cfg *Config, logger *zap.Logger, status *componentStatus, newEvents func() *record.EventRecorder) *clusterSource {
	if !slices.Contains(cfg.scraperKeys(), clusterKey) {
		return nil
	}
	return &clusterSource{
		host: gpu.Host{ClusterName: cfg.Attribution.ClusterName}, status: status,
		events: pipeline.New(pipeline.Options{Source: clusterKey, Logger: logger, Events: true, NewEventRecorder: newEvents}),
	}
}

// read notes the outcome of a read.
func (s *clusterSource) read(ctx context.Context, began time.Time, failure *gpu.Failure) {
	s.stats.end(began, failure == nil)
	s.events.Take(ctx, &gpu.Node{Host: s.host, Time: began, Failure: failure})
	var reason error
	if failure != nil {
		reason = failure
	}
	s.status.update(clusterKey, reason)
}

// scrapeLogs returns the events of the reads.
func (s *clusterSource) scrapeLogs(context.Context) (plog.Logs, error) {
	return s.events.Logs(&s.host), nil
}
