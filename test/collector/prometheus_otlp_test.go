// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/series"
)

// What ends leaves a Prometheus that takes OTLP with the next message, and nothing else does, whether attributes of resources are promoted
// or not.
func TestEndedSeriesByOTLP(t *testing.T) {
	t.Parallel()
	flat := otlpPrometheus(t, "")
	whole := otlpPrometheus(t, "otlp: {promote_resource_attributes: [container.id, process.executable.name]}")
	usages := func(address string, now time.Time) []string {
		all := map[string]bool{}
		for _, labels := range labelsAt(t, address, `{__name__=~".+_gpu_memory_usage_bytes"}`, now) {
			all[ownerOf(labels)] = true
		}
		return slices.Sorted(maps.Keys(all))
	}
	var tracker series.Tracker
	now := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	for _, step := range endings() {
		now = now.Add(5 * time.Second)
		message := tracker.End(usage(now, step.owners...), pcommon.NewTimestampFromTime(now))
		for _, address := range []string{flat, whole} {
			send(t, "http://"+address+"/api/v1/otlp/v1/metrics", message)
		}
		assert.Equal(t, step.flat, usages(flat, now), "%s, without resources", step.name)
		assert.Equal(t, step.whole, usages(whole, now), "%s, with resources", step.name)
	}
}

// TestEndedProcessesByOTLP: the series of processes that end and of a GPU that is lost end with the read that no longer has them.
func TestEndedProcessesByOTLP(t *testing.T) {
	t.Parallel()
	address := otlpPrometheus(t, "")
	const workers = "gpus = 2\n[process worker]\ngpu = *\ncount = COUNT\npid = 40001\nmemory = 1Gi\nsm = 1\n"
	config := func(count string) string { return strings.ReplaceAll(workers, "COUNT", count) }
	n := start(t, spec{scenario: config("6"), replace: map[string]string{
		"\nexporters:\n":                     "\nexporters:\n  otlp_http/prometheus: {endpoint: 'http://" + address + "/api/v1/otlp', sending_queue: {num_consumers: 1}}\n",
		"exporters: [otlp_http, prometheus]": "exporters: [otlp_http, prometheus, otlp_http/prometheus]",
	}})
	n.next("two GPUs", full(2))
	const processes, power = `count(process_gpu_memory_usage_bytes)`, `count(hw_power_watts)`
	becomes(t, address, processes, 12)
	n.set(config("3"))
	becomes(t, address, processes, 6)
	n.set(config("3") + "[fault f]\ngpu = 1\nkind = lost")
	becomes(t, address, power, 1)
	n.set(config("3"))
	becomes(t, address, power, 2)
	n.interrupt()
}
