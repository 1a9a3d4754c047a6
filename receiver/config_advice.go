// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/kubeexec"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// leastExecTimeout is the shortest timeout in which kubernetes_exec can read a node: the process table of a driver pod alone may take 5 s.
const leastExecTimeout = 6 * time.Second

// warnings returns what is allowed but most likely not meant, by key.
func (c *Config) warnings() []string {
	found := c.kernelLogWarnings()
	if !slices.Contains(c.scraperKeys(), fleetKey) || c.ControllerConfig.Timeout >= leastExecTimeout {
		return found
	}
	return append(found, fmt.Sprintf("timeout: %s is short for %s::%s: an exec into a pod takes seconds on a busy node; set %s or more",
		c.ControllerConfig.Timeout, scrapersKey, fleetKey, leastExecTimeout))
}

// gpuSets returns names for the sets of GPUs that the receiver reads, which no other receiver should read as well.
func (c *Config) gpuSets() []string {
	var sets []string
	for _, key := range c.scraperKeys() {
		if kind := scraperKinds[key]; kind.vendor != "" {
			sets = append(sets, fmt.Sprintf("the %s GPUs of this machine", kind.vendor))
		}
	}
	if fleet, ok := c.Scrapers[fleetKey].(*kubeexec.Config); ok && fleet.Shards <= 1 {
		for i := range fleet.Clusters {
			sets = append(sets, fmt.Sprintf("the nodes of cluster %q that node_selector %q selects", fleet.Clusters[i].Name, fleet.NodeSelector))
		}
	}
	return sets
}

// unusedFilters refuses filters of resource attributes that are not sent. They keep and drop nothing.
func (c *Config) unusedFilters() error {
	var errs []error
	attributes := reflect.ValueOf(c.ResourceAttributes)
	for field, value := range attributes.Fields() {
		attribute := value.Interface().(metadata.ResourceAttributeConfig)
		if attribute.Enabled {
			continue
		}
		name := "resource_attributes::" + field.Tag.Get("mapstructure")
		for _, filters := range []struct {
			key   string
			count int
		}{
			{"metrics_include", len(attribute.MetricsInclude)},
			{"metrics_exclude", len(attribute.MetricsExclude)},
			{"events_include", len(attribute.EventsInclude)},
			{"events_exclude", len(attribute.EventsExclude)},
		} {
			if filters.count > 0 {
				errs = append(errs, fmt.Errorf("%s::%s: has no effect, because the attribute is not sent; set %s::enabled: true, or leave the filter out", name, filters.key, name))
			}
		}
	}
	return errors.Join(errs...)
}
