// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"fmt"

	"go.opentelemetry.io/collector/component"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/cluster"
)

// ClusterConfig is the configuration of kubernetes_cluster.
type ClusterConfig struct {
	API kube.Config `mapstructure:",squash"`
	// ResourceNames are the extended resources that count as GPUs; * matches any characters except a slash.
	ResourceNames []string `mapstructure:"resource_names"`
}

func defaultClusterConfig() component.Config {
	return &ClusterConfig{ResourceNames: cluster.DefaultResources()}
}

// Check returns what is wrong, by key.
func (c *ClusterConfig) Check() error {
	if err := c.API.Check(); err != nil {
		return err
	}
	if err := cluster.CheckResources(c.ResourceNames); err != nil {
		return fmt.Errorf("resource_names: %w", err)
	}
	return nil
}
