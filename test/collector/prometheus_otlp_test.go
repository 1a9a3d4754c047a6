// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/series"
	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// otlpPrometheus starts a Prometheus that takes OTLP, and returns its address.
func otlpPrometheus(t *testing.T, config string) string {
	t.Helper()
	binary := os.Getenv("PROMETHEUS_OTLP")
	if binary == "" {
		t.Skip("no Prometheus that takes OTLP: PROMETHEUS_OTLP does not name it; run `make test-collector`, which builds it")
	}
	dir, address := t.TempDir(), freeAddress(t)
	path := filepath.Join(dir, "prometheus.yaml")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	process, err := harness.Start(harness.Options{Binary: binary, Dir: dir, Args: []string{
		"--config.file=" + path, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + address, "--web.enable-otlp-receiver",
	}})
	require.NoError(t, err)
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			t.Log(process.Output())
		}
		for _, complaint := range []string{"out of order", "duplicate sample", "level=ERROR"} {
			assert.NotContains(t, process.Output(), complaint)
		}
	})
	eventually(t, patience, "Prometheus is ready", func() bool {
		require.True(t, process.Running(), process.Output())
		code, _, err := harness.Get(t.Context(), "http://"+address+"/-/ready")
		return err == nil && code == 200
	})
	return address
}

// labelsAt asks Prometheus for the labels of the series that a query has at a time.
func labelsAt(t *testing.T, address, query string, at time.Time) []map[string]string {
	t.Helper()
	code, body, err := harness.Get(t.Context(), fmt.Sprintf("http://%s/api/v1/query?query=%s&time=%.3f", address, url.QueryEscape(query),
		float64(at.UnixMilli())/1000))
	require.NoError(t, err)
	require.Equal(t, 200, code, body)
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string `json:"metric"`
			} `json:"result"`
		} `json:"data"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &answer))
	var all []map[string]string
	for _, found := range answer.Data.Result {
		all = append(all, found.Metric)
	}
	return all
}

// What ends leaves a Prometheus that takes OTLP with the next message, and nothing else does, whether attributes of resources are promoted
// or not.
func TestEndedSeriesByOTLP(t *testing.T) {
	t.Parallel()
	flat := otlpPrometheus(t, "")
	whole := otlpPrometheus(t, "otlp: {promote_resource_attributes: [container.id, process.executable.name]}")
	usages := func(address string, at time.Time) []string {
		all := map[string]bool{}
		for _, labels := range labelsAt(t, address, `{__name__=~".+_gpu_memory_usage_bytes"}`, at) {
			all[ownerOf(labels)] = true
		}
		return slices.Sorted(maps.Keys(all))
	}
	var tracker series.Tracker
	at := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	for _, step := range endings() {
		at = at.Add(5 * time.Second)
		message := tracker.End(usage(at, step.owners...), pcommon.NewTimestampFromTime(at))
		for _, address := range []string{flat, whole} {
			send(t, "http://"+address+"/api/v1/otlp/v1/metrics", message)
		}
		assert.Equal(t, step.flat, usages(flat, at), "%s, without resources", step.name)
		assert.Equal(t, step.whole, usages(whole, at), "%s, with resources", step.name)
	}
}

// The series of processes that end, and those of a GPU that is lost, end with the read that no longer has them. The fault of a GPU that
// comes back is 0, and an alert on it resolves with the next evaluation.
func TestEndedStatesByOTLP(t *testing.T) {
	t.Parallel()
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(rules, []byte("groups: [{name: g, interval: 500ms, rules: [{alert: Lost, expr: 'hw_gpu_fault{error_type=\"lost\"} == 1'}]}]"), 0o600))
	address := otlpPrometheus(t, "rule_files: ["+rules+"]")
	const workers = "gpus = 2\n[process worker]\ngpu = *\ncount = COUNT\npid = 40001\nmemory = 1Gi\nsm = 1\n"
	with := func(count string) string { return strings.ReplaceAll(workers, "COUNT", count) }
	n := start(t, spec{scenario: with("6"), replace: map[string]string{
		"\nexporters:\n":                     "\nexporters:\n  otlp_http/prometheus: {endpoint: 'http://" + address + "/api/v1/otlp'}\n",
		"exporters: [otlp_http, prometheus]": "exporters: [otlp_http, prometheus, otlp_http/prometheus]",
	}})
	n.next("two GPUs", full(2))
	holds := func(what, query string, want float64) {
		t.Helper()
		eventually(t, patience, what, func() bool { return ask(t, address, query) == want })
	}
	const processes, power, lost = `count(process_gpu_memory_usage_bytes)`, `count(hw_power_watts)`, `hw_gpu_fault{error_type="lost"}`
	holds("twelve", processes, 12)
	n.set(with("3"))
	holds("six have ended", processes, 6)
	n.set(with("3") + "[fault f]\ngpu = 1\nkind = lost")
	holds("a GPU is lost", lost, 1)
	holds("it has no readings", power, 1)
	holds("the alert fires", `count(ALERTS{alertname="Lost", alertstate="firing"})`, 1)
	n.set(with("3"))
	holds("it is back", lost, 0)
	holds("it has readings", power, 2)
	holds("the alert is resolved", `count(ALERTS{alertname="Lost"}) or vector(0)`, 0)
	n.interrupt()
}
