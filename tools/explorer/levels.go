// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// levels are what a metric or an event can be about.
var levels = []string{levelGPU, levelPartition, levelProcess, levelContainer, levelWorkload, levelNode, levelCluster, levelCollector}

const (
	levelGPU       = "GPU"
	levelPartition = "partition"
	levelProcess   = "process"
	levelContainer = "container"
	levelWorkload  = "pod or workload"
	levelNode      = "node"
	levelCluster   = "cluster"
	levelCollector = "collector"
)

// levelsByPrefix are the levels of names. The attributes of a container's resource name its pod and workload.
var levelsByPrefix = []struct {
	prefix string
	levels []string
}{
	{"process.", []string{levelProcess}},
	{"container.", []string{levelContainer, levelWorkload}},
	{"k8s.container.", []string{levelContainer, levelWorkload}},
	{"k8s.cluster.", []string{levelCluster}},
	{"k8s.node.", []string{levelNode}},
	{"k8s.", []string{levelWorkload}},
	{"host.", []string{levelNode}},
	{"batch.", []string{levelContainer}},
	{"slurm.", []string{levelContainer}},
	{"systemd.", []string{levelContainer}},
}

// levelsOf returns the levels of a metric, an event or an attribute of a resource.
func levelsOf(name string, attributes []string, ofPartitions bool) []string {
	for _, l := range levelsByPrefix {
		if strings.HasPrefix(name, l.prefix) {
			return l.levels
		}
	}
	switch {
	case !slices.Contains(attributes, "hw.id"):
		return []string{levelNode}
	case ofPartitions:
		return []string{levelGPU, levelPartition}
	default:
		return []string{levelGPU}
	}
}

// golden is what a golden file has.
type golden struct {
	ResourceMetrics []struct {
		ScopeMetrics []struct {
			Metrics []struct {
				Name       string
				Gauge, Sum struct {
					DataPoints []struct{ Attributes []struct{ Key string } }
				}
			}
		}
	}
}

// readPartitionMetrics returns the metrics that some golden file has of a MIG instance or of a partition.
func readPartitionMetrics(folder string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("golden files in %s: %w", folder, err)
	}
	found := map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file) //nolint:gosec // the repository is what the developer says
		if err != nil {
			return nil, err
		}
		var g golden
		if err := yaml.Unmarshal(content, &g); err != nil {
			return nil, fmt.Errorf("parse %s: %w", file, err)
		}
		for _, r := range g.ResourceMetrics {
			for _, s := range r.ScopeMetrics {
				for _, m := range s.Metrics {
					for _, p := range append(m.Gauge.DataPoints, m.Sum.DataPoints...) {
						if slices.ContainsFunc(p.Attributes, func(a struct{ Key string }) bool { return a.Key == "hw.parent" }) {
							found[m.Name] = true
						}
					}
				}
			}
		}
	}
	return found, nil
}
