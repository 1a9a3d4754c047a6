// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/kubeexec"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// scraperChecker is implemented by the configurations of scrapers. Check returns what is wrong, each error with its key below
// the scraper's own. It is not called Validate because confmap.Validate would call it too, and print its errors a second time
// without the full key.
type scraperChecker interface{ Check() error }

// keyed puts a key before an error, or before each of several joined errors.
func keyed(key string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("%s::%w", key, err)
	}
	var errs []error
	for _, e := range joined.Unwrap() {
		errs = append(errs, keyed(key, e))
	}
	return errors.Join(errs...)
}

// oneScraperPerVendor refuses two scrapers that would report the same GPU.
func oneScraperPerVendor(keys []string) error {
	var errs []error
	first := map[string]string{}
	for _, key := range keys {
		vendor := string(scraperKinds[key].vendor)
		if vendor == "" {
			continue // it reads no GPU of this machine
		}
		if other, exists := first[vendor]; exists {
			errs = append(errs, fmt.Errorf("%s::%s and %s::%s: both read the %s GPUs of this machine, which would be reported twice; keep one",
				scrapersKey, other, scrapersKey, key, vendor))
			continue
		}
		first[vendor] = key
	}
	return errors.Join(errs...)
}

// clusterAlone refuses kubernetes_cluster beside scrapers of this machine.
func clusterAlone(keys []string) error {
	if !slices.Contains(keys, clusterKey) {
		return nil
	}
	var errs []error
	for _, key := range keys {
		if key != clusterKey && key != fleetKey {
			errs = append(errs, fmt.Errorf("%s::%s and %s::%s: the first is for one collector in a cluster, the other for each machine; "+
				"give them to different collectors", scrapersKey, clusterKey, scrapersKey, key))
		}
	}
	return errors.Join(errs...)
}

// attributionUsed refuses parts of the attribution if no scraper reads this machine, because they would apply to nothing.
func attributionUsed(parts *attribution.Config, keys []string) error {
	remote := ""
	for _, key := range keys {
		switch {
		case scraperKinds[key].local():
			return nil
		case remote == "" || key == fleetKey:
			remote = key
		}
	}
	if remote == "" {
		return nil
	}
	use := map[string]string{}
	if remote == fleetKey {
		use = map[string]string{"processes": "; use attribute_pods of the scraper", "owners": "; use owners of the scraper", "node_labels": "; use node_labels of the scraper"}
	}
	var errs []error
	for _, part := range []struct {
		key     string
		present bool
	}{
		{"pod_resources", parts.PodResources != nil},
		{"processes", parts.Processes != nil},
		{"slurm", parts.Slurm != nil},
		{"owners", parts.Owners != nil},
		{"node_labels", parts.NodeLabels != nil},
		{"containers", parts.Containers != nil},
	} {
		if part.present {
			errs = append(errs, fmt.Errorf("attribution::%s: is for the GPUs of this machine, which %s::%s does not read: leave it out%s",
				part.key, scrapersKey, remote, use[part.key]))
		}
	}
	return errors.Join(errs...)
}

// minExecTimeout is the shortest timeout in which kubernetes_exec can read a node: the process table of a driver pod alone may take 5 s.
const minExecTimeout = 6 * time.Second

// warnings returns what is allowed but most likely not meant, by key.
func (c *Config) warnings() []string {
	result := c.kernelLogWarnings()
	if !slices.Contains(c.scraperKeys(), fleetKey) || c.ControllerConfig.Timeout >= minExecTimeout {
		return result
	}
	return append(result, fmt.Sprintf("timeout: %s is short for %s::%s: an exec into a pod takes seconds on a busy node; set %s or more",
		c.ControllerConfig.Timeout, scrapersKey, fleetKey, minExecTimeout))
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
