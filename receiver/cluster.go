// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/scraper"
	"go.opentelemetry.io/collector/scraper/scraperhelper"
	"go.uber.org/zap"
	"k8s.io/client-go/kubernetes"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/cluster"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// newClusterController returns the controller of kubernetes_cluster. stats gets the outcome of its reads.
func newClusterController(
	cfg *Config, set receiver.Settings, next consumer.Metrics, connect connector, stats *readStats,
) (component.Component, error) {
	cs := &clusterScraper{
		config:   cfg.scraperConfig(clusterKey).(*ClusterConfig),
		connect:  connect,
		logger:   set.Logger,
		recorder: record.NewCluster(cfg.MetricsBuilderConfig, set, cfg.Attribution.ClusterName),
		problems: pipeline.NewProblemLog(set.Logger.With(zap.String("scraper", clusterKey)), ""),
		stats:    stats,
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
	stats    *readStats
	view     *cluster.View
}

// connector returns the client of a cluster.
type connector func(*ClusterConfig) (kubernetes.Interface, error)

func connectCluster(c *ClusterConfig) (kubernetes.Interface, error) {
	config, err := c.API.REST()
	if err != nil {
		return nil, err
	}
	clients, err := kube.NewClients(config)
	if err != nil {
		return nil, err
	}
	return clients.Kubernetes, nil
}

// start begins to watch. It fails only if credentials cannot be read, not if the API server does not answer.
func (s *clusterScraper) start(context.Context, component.Host) error {
	client, err := s.connect(s.config)
	if err != nil {
		return kube.Keyed(scrapersKey+"::"+clusterKey, err)
	}
	if s.view, err = cluster.New(client, s.config.ResourceNames); err != nil {
		return fmt.Errorf("%s::%s: %w", scrapersKey, clusterKey, err)
	}
	for _, warning := range s.config.API.Warnings() {
		s.logger.Warn(scrapersKey + "::" + clusterKey + ": " + warning)
	}
	s.view.Start()
	return nil
}

func (s *clusterScraper) scrape(context.Context) (pmetric.Metrics, error) {
	began := time.Now()
	problems := s.view.Problems()
	s.problems.Update(problems, true)
	if !s.view.Synced() { // an incomplete list would look like a smaller cluster
		s.stats.end(began, false)
		return pmetric.NewMetrics(), nil
	}
	metrics := s.recorder.Record(s.view.Snapshot(), began)
	s.stats.end(began, len(problems) == 0) // the last known state is sent also during an outage
	return metrics, nil
}

func (s *clusterScraper) shutdown(context.Context) error {
	if s.view != nil {
		s.view.Stop()
	}
	return nil
}
