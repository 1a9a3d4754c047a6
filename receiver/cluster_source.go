// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube/lifecycle"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// clusterSource is the state of kubernetes_cluster. The metrics receiver, which reads, and the logs receiver share it.
type clusterSource struct {
	*shared
	stats    readStats
	host     gpu.Host
	pipeline *pipeline.Pipeline        // of the cluster's state; the metrics are the recorder's
	events   *eventSender              // nil without a logs receiver
	pods     atomic.Pointer[podEvents] // nil where nobody wants events of pods
	tracker  *lifecycle.Tracker        // that of the storage, for each time this replica reads; nil before the first, and without storage
	wants    bool                      // events of pods are enabled
	dropped  func(events int)          // counts events that will never be sent
}

// newClusterSource returns nil if kubernetes_cluster is not configured. dropped is called with the number of events that will never be sent.
func newClusterSource(s *shared, dropped func(events int)) *clusterSource {
	if !slices.Contains(s.cfg.scraperKeys(), clusterKey) {
		return nil
	}
	return &clusterSource{
		shared: s, host: gpu.Host{ClusterName: s.cfg.Attribution.ClusterName}, wants: s.cfg.sendsPodEvents(), dropped: dropped,
		pipeline: pipeline.New(pipeline.Options{
			Source: clusterKey, Logger: s.logger, Events: true, EventsDropped: dropped, Keep: s.cfg.Storage != nil,
			NewEventRecorder: func() *record.EventRecorder { return s.newEventRecorder() }, // the logs receiver is made later
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
