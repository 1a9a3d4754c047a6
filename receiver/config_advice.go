// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/kubeexec"
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
