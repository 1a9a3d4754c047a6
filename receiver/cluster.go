// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/scraper"
	"go.opentelemetry.io/collector/scraper/scraperhelper"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/cluster"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
	"github.com/otelgpu/gpureceiver/internal/record"
	"github.com/otelgpu/gpureceiver/internal/series"
)

// newClusterController returns the controller of kubernetes_cluster. source gets the outcome of its reads.
func newClusterController(
	cfg *Config, set receiver.Settings, next consumer.Metrics, connect connector, source *clusterSource,
) (component.Component, error) {
	cs := &clusterScraper{
		config:   cfg.scraperConfig(clusterKey).(*ClusterConfig),
		connect:  connect,
		logger:   set.Logger,
		recorder: record.NewCluster(cfg.MetricsBuilderConfig, set, clusterKey, cfg.Attribution.ClusterName),
		problems: pipeline.NewProblemLog(set.Logger.With(zap.String("scraper", clusterKey)), ""),
		source:   source,
	}
	sc, err := scraper.NewMetrics(cs.scrape, scraper.WithStart(cs.start), scraper.WithShutdown(cs.shutdown))
	if err != nil {
		return nil, err
	}
	return scraperhelper.NewMetricsController(cfg.controller(), set, next,
		scraperhelper.AddMetricsScraper(component.MustNewType(clusterKey), sc))
}

// clusterScraper reports what the informers of its view have; it sends no requests of its own.
type clusterScraper struct {
	config   *ClusterConfig
	connect  connector
	logger   *zap.Logger
	recorder *record.ClusterRecorder
	problems *pipeline.ProblemLog
	source   *clusterSource
	series   series.Tracker

	leadership *leadership // nil without leader election
	mu         sync.Mutex
	view       *cluster.View // nil before start, and while another replica reads
	started    time.Time
	size       clusterSize // that was logged last
}

// connector returns the client of a cluster.
type connector func(*ClusterConfig) (*kube.Clients, error)

func connectCluster(c *ClusterConfig) (*kube.Clients, error) {
	config, err := c.API.REST()
	if err != nil {
		return nil, err
	}
	return kube.NewClients(config)
}

// start begins to watch, or to contend for the Lease of the replica that does. It fails only if credentials cannot be read, not if the API server does
// not answer.
func (s *clusterScraper) start(context.Context, component.Host) error {
	clients, err := s.connect(s.config)
	if err != nil {
		return kube.Keyed(scrapersKey+"::"+clusterKey, err)
	}
	for _, warning := range s.config.API.Warnings() {
		s.logger.Warn(scrapersKey + "::" + clusterKey + ": " + warning)
	}
	if s.config.LeaderElection == nil {
		return s.watch(clients)
	}
	if _, err := s.newView(clients); err != nil { // would fail later, too
		return err
	}
	s.leadership = contend(clients.Kubernetes, s.config.LeaderElection, func() {
		if err := s.watch(clients); err != nil {
			s.logger.Error("This replica cannot read the cluster", zap.Error(err))
			return
		}
		s.logger.Info("This replica reads the cluster")
	}, s.unwatch)
	return nil
}

func (s *clusterScraper) newView(clients *kube.Clients) (*cluster.View, error) {
	var owners *kube.Owners
	if s.config.Owners != nil {
		owners = kube.WatchOwners(clients, s.config.Owners.Kinds)
	}
	view, err := cluster.New(clients.Kubernetes, s.config.ResourceNames, owners)
	if err == nil && len(s.config.DeviceClasses) > 0 {
		err = view.WatchClaims(clients, s.config.DeviceClasses)
	}
	if err != nil {
		return nil, fmt.Errorf("%s::%s: %w", scrapersKey, clusterKey, err)
	}
	return view, nil
}

// watch begins to watch.
func (s *clusterScraper) watch(clients *kube.Clients) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	view, err := s.newView(clients)
	if err != nil {
		return err
	}
	if err := s.source.follow(view, s.config); err != nil {
		return fmt.Errorf("%s::%s: %w", scrapersKey, clusterKey, err)
	}
	s.view, s.started, s.series = view, time.Now(), series.Tracker{}
	view.Start()
	return nil
}

// unwatch ends the watching, if it goes on.
func (s *clusterScraper) unwatch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.source.pods.Load().end() // the view waits for its followers
	if s.view != nil {
		s.view.Stop()
		s.view = nil
	}
}

func (s *clusterScraper) scrape(ctx context.Context) (pmetric.Metrics, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	began := time.Now()
	if s.view == nil {
		return s.stand(ctx, began), nil
	}
	problems := s.view.Problems()
	s.problems.Update(append(s.view.OwnerProblems(), problems...), true)
	synced := s.view.Synced()
	if !synced && len(problems) == 0 && began.Sub(s.started) < s.source.waits.clusterList {
		s.source.stats.end(began, false)
		return pmetric.NewMetrics(), nil
	}
	failure := clusterFailure(problems, synced)
	s.source.read(ctx, began, failure)
	if failure == nil {
		s.source.pods.Load().confirm(began)
	}
	var snapshot gpu.Cluster
	if synced { // an incomplete list would look like a smaller cluster
		snapshot = s.view.Snapshot() // the last known state is sent also during an outage
		s.logSize(&snapshot)
	}
	metrics := s.recorder.Record(&snapshot, began, failure)
	return s.series.End(metrics, pcommon.NewTimestampFromTime(began)), nil
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
func (s *clusterScraper) logSize(snapshot *gpu.Cluster) {
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
func (s *clusterScraper) stand(ctx context.Context, now time.Time) pmetric.Metrics {
	err := s.leadership.err()
	if err == nil {
		s.problems.Update(nil, true)
		s.source.status.update(clusterKey, nil)
		return pmetric.NewMetrics()
	}
	failure := &gpu.Failure{Reason: kube.ReasonOf(err), Err: err}
	s.problems.Update([]gpu.Problem{{Kind: gpu.ProblemKubernetes, What: "leader election", Err: failure}}, true)
	s.source.read(ctx, now, failure)
	return s.recorder.Record(&gpu.Cluster{}, now, failure)
}

func (s *clusterScraper) shutdown(context.Context) error {
	s.leadership.stop()
	s.unwatch()
	return nil
}
