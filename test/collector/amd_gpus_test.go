// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/amdgpusim"
	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// amdScrapes is the number of reads over which the cost is measured.
const amdScrapes = 5

// TestAMD runs the shipped config/amd.yaml, with other ports and another interval, on simulated nodes of eight MI300X. The metrics that an
// AMD site needs at least are on both outputs for each GPU, with the values of the driver's files, and the cost is low.
func TestAMD(t *testing.T) {
	for name, divided := range map[string]bool{"8 GPUs": false, "64 partitions of 8 GPUs": true} {
		t.Run(name, func(t *testing.T) {
			host := filepath.Join(t.TempDir(), "host")
			_, err := amdgpusim.Write(host, amdgpusim.MI300XNode(8, divided))
			require.NoError(t, err)
			sink := harness.NewSink()
			t.Cleanup(func() { assert.NoError(t, sink.Close()) })
			process, page := startAMD(t, sink, host)

			leaves, share := 8, 61e9/206141652992
			if divided {
				leaves, share = 64, 36e9/206141652992
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			points, err := sink.Next(ctx, func(p harness.Points) bool { return len(p.Select("hw.power")) == 8 })
			require.NoError(t, err)
			requireWanted(t, points, divided, leaves, share)
			var shown []harness.Series
			eventually(t, patience, "the page has them, too", func() bool {
				shown = readPage(t, page)
				gpus := 0
				for _, s := range shown {
					if s.Name == "hw_power_watts" {
						gpus++
					}
				}
				return gpus == 8
			})
			requireWantedOnPage(t, shown, divided, leaves, share)

			cpu, err := harness.CPUTime(process.PID())
			require.NoError(t, err)
			for range amdScrapes {
				_, err = sink.Next(ctx, func(harness.Points) bool { return true })
				require.NoError(t, err)
				readPage(t, page) // as Prometheus does
			}
			after, err := harness.CPUTime(process.PID())
			require.NoError(t, err)
			anonymous, resident, err := harness.Memory(process.PID())
			require.NoError(t, err)
			scrape := (after - cpu) / amdScrapes
			t.Logf("%d points; %v of CPU a scrape, which is %.4f core every 30 s; %.1f MiB anonymous, %.1f MiB resident",
				len(points), scrape.Round(10*time.Microsecond), scrape.Seconds()/30, float64(anonymous)/(1<<20), float64(resident)/(1<<20))
			assert.Less(t, scrape.Seconds()/30, 0.2, "cores")
			assert.Less(t, resident, int64(256<<20))
			assert.Empty(t, process.Complaints())
			code, _, err := process.Interrupt(endsWithin)
			require.NoError(t, err)
			assert.Zero(t, code)
		})
	}
}

// startAMD starts the collector with config/amd.yaml on a machine whose files are below host.
func startAMD(t *testing.T, sink *harness.Sink, host string) (process *harness.Process, page string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "config", "amd.yaml"))
	require.NoError(t, err)
	config, address := string(text), freeAddress(t)
	for shipped, replacement := range map[string]string{
		"0.0.0.0:${env:EXPORTER_PORT:-9400}": address, "127.0.0.1:9402": freeAddress(t), "amdgpu: {}": "amdgpu: {root_path: " + host + "}", "collection_interval: ${env:COLLECTION_INTERVAL:-30s}": "collection_interval: " + patient + "\n    initial_delay: 0s\n    timeout: " + patient,
	} {
		require.Equal(t, 1, strings.Count(config, shipped), shipped)
		config = strings.Replace(config, shipped, replacement, 1)
	}
	endpoint, stop, err := sink.ServeGRPC()
	require.NoError(t, err)
	t.Cleanup(stop)
	dir := t.TempDir()
	path := filepath.Join(dir, "amd.yaml")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	process, err = harness.Start(harness.Options{
		Binary: binary(t), Dir: dir,
		Args: []string{"--config", path, "--set=service::telemetry::metrics::level=none"}, // the same port in all tests
		Env:  []string{"OTLP_ENDPOINT=" + endpoint, "K8S_NODE_NAME=node-a"},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			t.Log(process.Output())
		}
	})
	return process, "http://" + address + "/metrics"
}

// requireWanted requires utilization, share of VRAM and power of each GPU, and the first two of each partition.
func requireWanted(t *testing.T, points harness.Points, divided bool, leaves int, share float64) {
	t.Helper()
	parents := func(metric string, attributes ...string) (gpus, partitions harness.Points) {
		for _, p := range points.Select(metric, attributes...) {
			if p.Attributes["hw.parent"] == "" {
				gpus = append(gpus, p)
			} else {
				partitions = append(partitions, p)
			}
		}
		return gpus, partitions
	}
	want := map[string]float64{"hw.gpu.utilization": 0.35, "hw.gpu.memory.utilization": share, "hw.power": 318}
	for metric, value := range want {
		var attributes []string
		if metric == "hw.gpu.utilization" {
			attributes = []string{"hw.gpu.task", "general"}
		}
		gpus, partitions := parents(metric, attributes...)
		require.Len(t, gpus.Distinct("hw.id"), 8, metric)
		for _, p := range gpus {
			assert.InDelta(t, value, p.Value, 1e-9, "%s of %s", metric, p.Attributes["hw.id"])
			assert.Equal(t, "node-a", p.Resource["k8s.node.name"])
		}
		if divided && metric != "hw.power" {
			assert.Len(t, partitions.Distinct("hw.id"), leaves, metric)
		} else {
			assert.Empty(t, partitions, metric)
		}
	}
}

// requireWantedOnPage requires the same of the Prometheus endpoint.
func requireWantedOnPage(t *testing.T, page []harness.Series, divided bool, leaves int, share float64) {
	t.Helper()
	for metric, value := range map[string]float64{
		"hw_gpu_utilization_ratio": 0.35, "hw_gpu_memory_utilization_ratio": share, "hw_power_watts": 318,
	} {
		gpus, partitions := 0, 0
		for _, s := range page {
			switch {
			case s.Name != metric, metric == "hw_gpu_utilization_ratio" && s.Labels["hw_gpu_task"] != "general":
			case s.Labels["hw_parent"] != "":
				partitions++
			default:
				gpus++
				assert.InDelta(t, value, s.Value, 1e-9, metric)
				assert.Equal(t, "node-a", s.Labels["k8s_node_name"])
			}
		}
		assert.Equal(t, 8, gpus, metric)
		if divided && metric != "hw_power_watts" {
			assert.Equal(t, leaves, partitions, metric)
		} else {
			assert.Zero(t, partitions, metric)
		}
	}
}
