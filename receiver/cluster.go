// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	"github.com/otelgpu/gpureceiver/internal/record"
)

// clusterKey is the scraper that shows how a cluster's GPUs are requested. It reads the Kubernetes API and no GPU, so it
// runs once in a cluster and never beside the scrapers of a machine.
const clusterKey = "kubernetes_cluster"

// ClusterConfig is the configuration of kubernetes_cluster.
type ClusterConfig struct {
	API kube.Config `mapstructure:",squash"`
	// ResourceNames are the resources that stand for GPUs; * stands for any characters but a slash.
	ResourceNames []string `mapstructure:"resource_names"`
}

func defaultClusterConfig() component.Config {
	return &ClusterConfig{ResourceNames: cluster.DefaultResources()}
}

// Validate tells what is wrong, by key.
func (c *ClusterConfig) Validate() error {
	if err := c.API.Check(); err != nil {
		return err
	}
	if err := cluster.CheckResources(c.ResourceNames); err != nil {
		return fmt.Errorf("resource_names: %w", err)
	}
	return nil
}

// clusterAlone refuses kubernetes_cluster beside scrapers of this machine.
func clusterAlone(keys []string) error {
	if !slices.Contains(keys, clusterKey) {
		return nil
	}
	var errs []error
	for _, key := range keys {
		if key != clusterKey {
			errs = append(errs, fmt.Errorf("%s::%s and %s::%s: the first is for one collector in a cluster, the other for each machine; "+
				"give them to different collectors", scrapersKey, clusterKey, scrapersKey, key))
		}
	}
	return errors.Join(errs...)
}

// newClusterController returns the controller of kubernetes_cluster.
func newClusterController(cfg *Config, set receiver.Settings, next consumer.Metrics, connect func(*ClusterConfig) (kubernetes.Interface, error)) (component.Component, error) {
	c := cfg.scraperConfig(clusterKey).(*ClusterConfig)
	client, err := connect(c)
	if err != nil {
		return nil, fmt.Errorf("%s::%s: %w", scrapersKey, clusterKey, err)
	}
	view, err := cluster.New(client, c.ResourceNames)
	if err != nil {
		return nil, fmt.Errorf("%s::%s: %w", scrapersKey, clusterKey, err)
	}
	for _, warning := range c.API.Warnings() {
		set.Logger.Warn(scrapersKey + "::" + clusterKey + ": " + warning)
	}
	recorder := record.NewCluster(cfg.MetricsBuilderConfig, set, cfg.Attribution.ClusterName)
	problems := newProblemLog(set.Logger.With(zap.String("scraper", clusterKey)))
	sc, err := scraper.NewMetrics(
		func(context.Context) (pmetric.Metrics, error) {
			problems.update(view.Problems(), true)
			if !view.Synced() { // a part would look like the whole
				return pmetric.NewMetrics(), nil
			}
			return recorder.Record(view.Snapshot(), time.Now()), nil
		},
		scraper.WithStart(func(context.Context, component.Host) error { view.Start(); return nil }),
		scraper.WithShutdown(func(context.Context) error { view.Stop(); return nil }))
	if err != nil {
		return nil, err
	}
	return scraperhelper.NewMetricsController(&cfg.ControllerConfig, set, next,
		scraperhelper.AddMetricsScraper(component.MustNewType(clusterKey), sc))
}

// connectCluster is how a cluster is reached but in tests.
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
