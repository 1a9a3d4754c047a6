// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/confmap"
	"sigs.k8s.io/yaml"
)

// A configuration is accepted or refused, never a panic, and an error names no field of a Go type. What is accepted is usable: its times
// are positive, its scrapers known, and it is accepted again.
func FuzzConfig(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "config", "*.yaml"))
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		retrieved, err := confmap.NewRetrievedFromYAML(text)
		if err != nil {
			f.Fatal(err)
		}
		conf, err := retrieved.AsConf()
		if err != nil {
			f.Fatal(err)
		}
		section, err := conf.Sub("receivers::gpu")
		if err != nil {
			f.Fatal(err)
		}
		seed, err := yaml.Marshal(section.ToStringMap())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	for _, text := range []string{
		"timeout: 5s\nscrapers: {kubernetes_exec: {clusters: [{name: a, targets: [{label_selector: a=b, container: c, tool: amd_smi}]}], shards: 2, leader_election: {lease_namespace: n}}}",
		"scrapers: {nvidia_smi: {query: fast}, rocm_smi: }\nattribution: {processes: , owners: {endpoint: 'https://a', token_file: /t}, node_name: n}",
		"scrapers: {kubernetes_cluster: {resource_names: ['nvidia.com/*']}}\nmetrics: {hw.power: {enabled: false}}\nevents: {hw.gpu.xid: {enabled: true}}",
		"scrapers: []", "max_processes: 1e30", "collection_interval: 60", "resource_attributes: {host.name: {metrics_include: [{regexp: '['}]}}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		retrieved, err := confmap.NewRetrievedFromYAML(text)
		if err != nil {
			return
		}
		conf, err := retrieved.AsConf()
		if err != nil {
			return
		}
		cfg, err := loadMap(conf.ToStringMap())
		if err != nil {
			if message := strings.ToLower(err.Error()); strings.Contains(message, "metricsbuilderconfig") || strings.Contains(message, "controllerconfig") {
				t.Fatalf("a Go field in: %s", err)
			}
			return
		}
		if cfg.ControllerConfig.CollectionInterval < minReadTime || cfg.ControllerConfig.Timeout < minReadTime ||
			cfg.ControllerConfig.Timeout > cfg.ControllerConfig.CollectionInterval || cfg.ControllerConfig.InitialDelay > 24*time.Hour {
			t.Fatalf("accepted: %+v", cfg.ControllerConfig)
		}
		for _, key := range cfg.scraperKeys() {
			if _, ok := scraperKinds[key]; !ok || cfg.scraperConfig(key) == nil {
				t.Fatalf("accepted: a scraper %q", key)
			}
		}
		_, _ = cfg.warnings(), cfg.gpuSets()
		if _, err := loadMap(conf.ToStringMap()); err != nil {
			t.Fatalf("accepted once: %s", err)
		}
	})
}
