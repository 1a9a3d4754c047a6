// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube/lifecycle"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// clusterSource is the state of kubernetes_cluster. The metrics receiver, which reads, and the logs receiver share it.
type clusterSource struct {
	stats    readStats
	host     gpu.Host
	status   *componentStatus
	pipeline *pipeline.Pipeline        // of the cluster's state; the metrics are the recorder's
	events   *eventSender              // nil without a logs receiver
	pods     atomic.Pointer[podEvents] // nil where nobody wants events of pods
	keeper   *keeper                   // nil without storage
	tracker  *lifecycle.Tracker        // that of the storage, for each time this replica reads; nil before the first, and without storage
	wants    bool                      // events of pods are enabled
	fed      bool                      // a metrics receiver reads the cluster
	dropped  func(events int)          // counts events that will never be sent
	waits    waits
}

// newClusterSource returns nil where kubernetes_cluster is not configured. newEvents is called before the first event is sent, and dropped with the
// number of events that will never be.
func newClusterSource(
	cfg *Config, logger *zap.Logger, status *componentStatus, newEvents func() *record.EventRecorder, dropped func(events int), waits waits,
) *clusterSource {
	if !slices.Contains(cfg.scraperKeys(), clusterKey) {
		return nil
	}
	return &clusterSource{
		host: gpu.Host{ClusterName: cfg.Attribution.ClusterName}, status: status, wants: cfg.sendsPodEvents(), dropped: dropped, waits: waits,
		pipeline: pipeline.New(pipeline.Options{
			Source: clusterKey, Logger: logger, Events: true, EventsDropped: dropped, Keep: cfg.Storage != nil, NewEventRecorder: newEvents,
		}),
	}
}

// read notes the outcome of a read.
func (s *clusterSource) read(ctx context.Context, began time.Time, failure *gpu.Failure) {
	s.stats.end(began, failure == nil)
	s.pipeline.Take(ctx, &gpu.Node{Host: s.host, Time: began, Failure: failure})
	var reason error
	if failure != nil {
		reason = failure
	}
	s.status.update(clusterKey, reason)
	s.events.wake()
}
