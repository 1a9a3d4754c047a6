// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/scraper"
	"go.opentelemetry.io/otel/attribute"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/cluster"
	"github.com/otelgpu/gpureceiver/internal/kube/lifecycle"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
	"github.com/otelgpu/gpureceiver/internal/record"
	"github.com/otelgpu/gpureceiver/internal/series"
)

// clusterSource is kubernetes_cluster: it reports what the informers of its view have, and sends no requests of its own. The metrics receiver, which
// reads, and the logs receiver share it.
type clusterSource struct {
	*shared
	config   *ClusterConfig
	clients  *kube.Clients
	host     gpu.Host
	recorder *record.ClusterRecorder
	problems *pipeline.ProblemLog
	pipeline *pipeline.Pipeline // of the cluster's state; the metrics are the recorder's
	stats    readStats
	pods     atomic.Pointer[podEvents] // of the last view; nil if no events of pods are sent

	mu         sync.Mutex
	tracker    *lifecycle.Tracker // the tracker of the storage, for each time this replica reads; nil without storage
	leadership *leadership        // nil without leader election
	view       *cluster.View      // nil while this replica does not read
	started    time.Time
	series     series.Tracker
	size       clusterSize // that was logged last
}

// newClusterSource fails only if credentials cannot be read, not if the API server does not answer.
func newClusterSource(ctx context.Context, s *shared, set receiver.Settings, connect connector) (*clusterSource, error) {
	config := s.cfg.scraperConfig(clusterKey).(*ClusterConfig)
	clients, err := connect(&config.API)
	if err != nil {
		return nil, kube.Keyed(scrapersKey+"::"+clusterKey, err)
	}
	for _, warning := range config.API.Warnings() {
		s.logger.Warn(scrapersKey + "::" + clusterKey + ": " + warning)
	}
	name := s.cfg.Attribution.ClusterName
	c := &clusterSource{
		shared: s, config: config, clients: clients, host: gpu.Host{ClusterName: name},
		recorder: record.NewCluster(s.cfg.MetricsBuilderConfig, set, clusterKey, name),
		problems: pipeline.NewProblemLog(s.logger.With(zap.String("scraper", clusterKey)), ""),
		pipeline: pipeline.New(pipeline.Options{
			Source: clusterKey, Logger: s.logger, Events: s.logs != nil, EventsDropped: s.eventsDropped(attribute.String("scraper", clusterKey)),
			Keep: s.keeper != nil, Known: s.keeper.known(ctx, clusterKey), EventRecorder: s.eventRecorder(),
		}),
	}
	_, err = c.newView() // what is wrong with the configuration
	return c, err
}

// connector returns the clients of a cluster. It is connect, except in tests.
type connector func(*kube.Config) (*kube.Clients, error)

func connect(api *kube.Config) (*kube.Clients, error) {
	config, err := api.REST()
	if err != nil {
		return nil, err
	}
	return kube.NewClients(config)
}

// controller returns what reads the cluster at each interval.
func (s *clusterSource) controller(output *metricsOutput) (component.Component, error) {
	return output.controller(s.cfg, clusterKey, s.scrape, scraper.WithStart(s.start), scraper.WithShutdown(s.shutdown))
}

// start begins to watch, or to contend for the Lease of the replica that does.
func (s *clusterSource) start(context.Context, component.Host) error {
	if s.config.LeaderElection == nil {
		return s.watch()
	}
	s.leadership = contend(s.clients.Kubernetes, s.config.LeaderElection, func() {
		if err := s.watch(); err != nil {
			s.logger.Error("This replica cannot read the cluster", zap.Error(err))
			return
		}
		s.logger.Info("This replica reads the cluster")
	}, s.unwatch)
	return nil
}

func (s *clusterSource) newView() (*cluster.View, error) {
	var owners *kube.Owners
	if s.config.Owners != nil {
		owners = kube.WatchOwners(s.clients, s.config.Owners.Kinds)
	}
	view, err := cluster.New(s.clients.Kubernetes, s.config.ResourceNames, owners)
	if err == nil && len(s.config.DeviceClasses) > 0 {
		err = view.WatchClaims(s.clients, s.config.DeviceClasses)
	}
	if err != nil {
		return nil, fmt.Errorf("%s::%s: %w", scrapersKey, clusterKey, err)
	}
	return view, nil
}

// watch begins to watch.
func (s *clusterSource) watch() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	view, err := s.newView()
	if err != nil {
		return err
	}
	if err := s.follow(view); err != nil {
		return fmt.Errorf("%s::%s: %w", scrapersKey, clusterKey, err)
	}
	s.view, s.started, s.series = view, time.Now(), series.Tracker{}
	view.Start()
	return nil
}

// unwatch ends the watching, if it goes on.
func (s *clusterSource) unwatch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods.Load().end() // the view waits for its followers
	if s.view != nil {
		s.view.Stop()
		s.view = nil
	}
}

func (s *clusterSource) scrape(ctx context.Context) (pmetric.Metrics, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	start := time.Now()
	if s.view == nil {
		return s.stand(ctx, start), nil
	}
	problems := s.view.Problems()
	s.problems.Update(append(s.view.OwnerProblems(), problems...), true)
	synced := s.view.Synced()
	if !synced && len(problems) == 0 && start.Sub(s.started) < s.waits.clusterList {
		s.stats.end(start, false)
		return pmetric.NewMetrics(), nil
	}
	failure := clusterFailure(problems, synced)
	s.noteRead(ctx, start, failure)
	if failure == nil {
		s.pods.Load().confirm(start)
	}
	var snapshot gpu.Cluster
	if synced { // an incomplete list would look like a smaller cluster
		snapshot = s.view.Snapshot() // the last known state is sent also during an outage
		s.logSize(&snapshot)
	}
	metrics := s.recorder.Record(&snapshot, start, failure)
	return s.series.End(metrics, pcommon.NewTimestampFromTime(start)), nil
}

// noteRead notes the outcome of a read.
func (s *clusterSource) noteRead(ctx context.Context, start time.Time, failure *gpu.Failure) {
	s.stats.end(start, failure == nil)
	s.pipeline.Take(ctx, &gpu.Node{Host: s.host, Time: start, Failure: failure})
	var reason error
	if failure != nil {
		reason = failure
	}
	s.status.update(clusterKey, reason)
}

var errNotListed = errors.New("kubernetes_cluster: the API server does not complete the first list of pods and nodes")

// clusterFailure returns why the cluster cannot be read; nil if it can.
func clusterFailure(problems []gpu.Problem, synced bool) *gpu.Failure {
	switch {
	case len(problems) > 0:
		return gpu.FailureOf(problems[0].Err)
	case !synced:
		return &gpu.Failure{Reason: gpu.FailureAPIUnreachable, Err: errNotListed}
	}
	return nil
}

// clusterSize is how much is known of a cluster.
type clusterSize struct{ nodes, gpus int64 }

// logSize logs the number of nodes with GPUs and of the GPUs and partitions that they offer, if one has changed.
func (s *clusterSource) logSize(snapshot *gpu.Cluster) {
	var size clusterSize
	last := ""
	for i := range snapshot.Nodes {
		n := &snapshot.Nodes[i]
		if capacity, ok := n.Capacity.Get(); ok && capacity > 0 {
			size.gpus += capacity
			if n.Node != last {
				size.nodes++
				last = n.Node
			}
		}
	}
	if size != s.size {
		s.size = size
		s.logger.Info("Reading the requests for the GPUs of a cluster", zap.Int64("nodes", size.nodes), zap.Int64("gpus", size.gpus))
	}
}

// stand returns what a replica reports while another one reads: nothing, unless the Lease cannot be read.
func (s *clusterSource) stand(ctx context.Context, now time.Time) pmetric.Metrics {
	err := s.leadership.err()
	if err == nil {
		s.problems.Update(nil, true)
		s.status.update(clusterKey, nil)
		return pmetric.NewMetrics()
	}
	failure := &gpu.Failure{Reason: kube.ReasonOf(err), Err: err}
	s.problems.Update([]gpu.Problem{{Kind: gpu.ProblemKubernetes, What: "leader election", Err: failure}}, true)
	s.noteRead(ctx, now, failure)
	return s.recorder.Record(&gpu.Cluster{}, now, failure)
}

func (s *clusterSource) shutdown(context.Context) error {
	s.leadership.stop()
	s.unwatch()
	return nil
}
