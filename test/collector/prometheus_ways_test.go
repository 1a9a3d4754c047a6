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
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// onceRead reads a node once, so that every way has the same values, and shows them for as long as the test takes.
const onceRead = `
receivers: {gpu: {collection_interval: 1h, timeout: 10m}}
exporters: {prometheus: {metric_expiration: 1h}}
service: {pipelines: {metrics: {exporters: [EXPORTERS]}}}
`

// A Prometheus has the same series with the same values by scrape, over OTLP and by remote write, with the shipped agent and the overlays for each.
// Over OTLP the series have those resource attributes that the shipped configuration of Prometheus promotes, through the other ways all.
func TestPrometheusWaysAgree(t *testing.T) {
	t.Parallel()
	tool(t, "prometheus")
	n := prepare(t, spec{scenario: "gpus = 2\n[gpu *]\nboard = h100\npower = 250\n[process worker]\ngpu = *\ncount = 3\npid = 40001\nmemory = 1Gi\nsm = 7\n"})
	exporters := []string{"otlp_grpc", "prometheus_remote_write"}
	s := shipped{
		configs:  []string{"agent.yaml", filepath.Join("overlays", "prometheus-remote-write.yaml")},
		scrapers: fmt.Sprintf("scrapers: {nvml: {library_path: %q}}", simulator(t).Full),
		env:      n.environment(),
	}
	byOTLP := shippedOTLP(t, func(rules []byte) []byte { return rules })
	if byOTLP != "" {
		s.configs = append(s.configs, filepath.Join("overlays", "prometheus-otlp.yaml"))
		s.env = append(s.env, "PROMETHEUS_URL=http://"+byOTLP)
		exporters = append(exporters, "otlp_http/prometheus")
	}
	s.more = strings.Replace(onceRead, "EXPORTERS", strings.Join(exporters, ", "), 1)
	byRemoteWrite := startPrometheus(t, tool(t, "prometheus"), "", "--web.enable-remote-write-receiver")
	s.env = append(s.env, "REMOTE_WRITE_URL=http://"+byRemoteWrite+"/api/v1/write")
	var page string
	page, n.process = s.start(t, n.dir, n.sink)
	var points harness.Points
	eventually(t, patience, "it has read", func() bool {
		points = harness.Flatten(n.sink.Last())
		return full(2)(points)
	})
	byScrape := scrapingPrometheus(t, "", page)

	shown := len(readPage(t, page))
	agree := func(way, address string, drop map[string]bool) {
		t.Helper()
		var want, got map[string]float64
		eventually(t, patience, "every series is scraped, and has come by "+way, func() bool {
			got = everySeries(t, address, nil)
			want = everySeries(t, byScrape, drop)
			return len(want) == shown && len(got) >= len(want)
		})
		assert.Equal(t, want, got, way)
		assert.NotEmpty(t, labelsOf(t, address, `hw_power_watts{job="gpureceiver-agent", instance="node-a"}`), way)
	}
	agree("remote write", byRemoteWrite, nil)
	if byOTLP == "" {
		return
	}
	dropped, promoted := unpromoted(t, points)
	assert.NotEmpty(t, dropped)
	assert.Contains(t, promoted, "host_name")
	agree("OTLP", byOTLP, dropped)
}

// unpromoted returns the labels of resource attributes that the shipped configuration of Prometheus does not promote and that no point has as an
// attribute of its own, and those that it promotes.
func unpromoted(t *testing.T, points harness.Points) (dropped, promoted map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "deploy", "prometheus", "prometheus-otlp.yaml"))
	require.NoError(t, err)
	var config struct {
		OTLP struct {
			Promote []string `json:"promote_resource_attributes"`
		} `json:"otlp"`
	}
	require.NoError(t, yaml.Unmarshal(text, &config))
	shippedToo := map[string]bool{}
	for _, name := range config.OTLP.Promote {
		shippedToo[strings.ReplaceAll(name, ".", "_")] = true
	}
	dropped, promoted = map[string]bool{}, map[string]bool{}
	ofPoints := map[string]bool{}
	for _, p := range points {
		for name := range p.Attributes {
			ofPoints[strings.ReplaceAll(name, ".", "_")] = true
		}
	}
	for _, p := range points {
		for name := range p.Resource {
			label := strings.ReplaceAll(name, ".", "_")
			if shippedToo[label] {
				promoted[label] = true
			} else if !ofPoints[label] {
				dropped[label] = true
			}
		}
	}
	return dropped, promoted
}

// everySeries returns the last value of each series of the receiver, by its labels without job, instance, the scope's and those to drop.
func everySeries(t *testing.T, address string, drop map[string]bool) map[string]float64 {
	t.Helper()
	got := map[string]float64{}
	for _, s := range seriesOf(t, address, `{__name__=~"(hw|process|container|k8s)_.+"}`) {
		maps.DeleteFunc(s.Labels, func(name, _ string) bool {
			return name == "job" || name == "instance" || strings.HasPrefix(name, "otel_scope_") || drop[name]
		})
		key := fmt.Sprint(s.Labels)
		require.NotContains(t, got, key)
		got[key] = s.Value
	}
	return got
}

// labelsOf asks Prometheus for the labels of the series that a query has.
func labelsOf(t *testing.T, address, query string) (all []map[string]string) {
	t.Helper()
	for _, s := range seriesOf(t, address, query) {
		all = append(all, s.Labels)
	}
	return all
}

// seriesOf asks Prometheus for the series that a query has, with their names among the labels.
func seriesOf(t *testing.T, address, query string) (all []harness.Series) {
	t.Helper()
	code, body, err := harness.Get(t.Context(), "http://"+address+"/api/v1/query?query="+url.QueryEscape(query))
	require.NoError(t, err)
	require.Equal(t, 200, code, body)
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string `json:"metric"`
				Value  [2]any            `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &answer))
	for _, ok := range answer.Data.Result {
		var value float64
		_, err := fmt.Sscan(ok.Value[1].(string), &value)
		require.NoError(t, err)
		all = append(all, harness.Series{Name: ok.Metric["__name__"], Labels: ok.Metric, Value: value})
	}
	return all
}
