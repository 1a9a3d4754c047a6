// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/pipeline"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/otelgpu/gpureceiver/internal/configkeys"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// Requests to the API server, per second and in a burst, unless they are configured.
const (
	defaultQPS   = 50
	defaultBurst = 100
)

// A node is read every 30 s by default.
const (
	defaultUnknownAfter = 2 * time.Minute
	minUnknownAfter     = 10 * time.Second
	maxUnknownAfter     = time.Hour
)

// Config is the configuration of the gpu_kubernetes exporter.
type Config struct {
	// API is how the cluster's API is reached: auth_type, endpoint and so on.
	API kube.Config `mapstructure:",squash"`

	// NodeName restricts what is posted to one node, as an agent's own. Without it the data say which node they are of.
	NodeName string `mapstructure:"node_name"`

	// ClusterName restricts what is posted to data with this k8s.cluster.name, if data of several clusters arrives.
	ClusterName string `mapstructure:"cluster_name"`

	// Events switches Kubernetes Events on.
	Events configoptional.Optional[EventsConfig] `mapstructure:"events"`

	// NodeCondition switches the condition GPUHealthy of nodes on.
	NodeCondition configoptional.Optional[NodeConditionConfig] `mapstructure:"node_condition"`
}

// EventsConfig is the configuration of Kubernetes Events. There is nothing to choose.
type EventsConfig struct{}

// NodeConditionConfig is the configuration of the condition GPUHealthy.
type NodeConditionConfig struct {
	// UnknownAfter is how long a node, or one of its GPUs, may send no metrics before the condition is Unknown.
	UnknownAfter time.Duration `mapstructure:"unknown_after"`
}

var (
	_ confmap.Unmarshaler = (*Config)(nil)
	_ confmap.Validator   = (*Config)(nil)
)

func createDefaultConfig() component.Config {
	return &Config{
		API:    kube.Config{QPS: defaultQPS, Burst: defaultBurst},
		Events: configoptional.Default(EventsConfig{}), NodeCondition: configoptional.Default(NodeConditionConfig{UnknownAfter: defaultUnknownAfter}),
	}
}

// Unmarshal reads the configuration.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	if err := configkeys.Check("", conf.ToStringMap(), c); err != nil {
		return err
	}
	return conf.Unmarshal(c)
}

// Validate returns what is wrong, each error with its key.
func (c *Config) Validate() error {
	errs := []error{c.API.Check()}
	if !c.Events.HasValue() && !c.NodeCondition.HasValue() {
		errs = append(errs, errors.New("events, node_condition: nothing is posted without either; set events: {}, node_condition: {} or both"))
	}
	if condition := c.NodeCondition.Get(); condition != nil && (condition.UnknownAfter < minUnknownAfter || condition.UnknownAfter > maxUnknownAfter) {
		errs = append(errs, fmt.Errorf("node_condition::unknown_after: must be from %s to %s, got %s", minUnknownAfter, maxUnknownAfter, condition.UnknownAfter))
	}
	if c.NodeName != "" && len(validation.IsDNS1123Subdomain(c.NodeName)) > 0 {
		errs = append(errs, fmt.Errorf("node_name: %q is not the name of a node", c.NodeName))
	}
	return errors.Join(errs...)
}

// unused returns which settings have no effect because the exporter is in no pipeline of their signal. Validate cannot know the pipelines.
func (c *Config) unused(signals map[pipeline.Signal]bool) []string {
	var found []string
	if c.Events.HasValue() && !signals[pipeline.SignalLogs] {
		found = append(found, "events: has no effect without a logs pipeline; add the exporter to the logs pipeline of the gpu receiver, or leave events out")
	}
	if c.NodeCondition.HasValue() && !signals[pipeline.SignalMetrics] {
		found = append(found, "node_condition: has no effect without a metrics pipeline; add the exporter to the metrics pipeline of the gpu receiver, or leave node_condition out")
	}
	return found
}
