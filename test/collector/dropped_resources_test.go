// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// Two nodes that differ only in their GPUs and names, with the same processes on each.
const twin = `
gpus = 8
[gpu *]
board = h100
uuid = GPU-00000000-0000-0000-000%s-00000000000{i}
[process worker]
gpu = *
count = 4
pid = 40001
memory = 9Gi
sm = 11
`

// A backend that drops resources does not merge series: no two points of two nodes have the same name and attributes.
func TestNothingCollidesWithoutResources(t *testing.T) {
	t.Parallel()
	seen := map[string]harness.Point{}
	for i, name := range []string{"node-a", "node-b"} {
		n := start(t, spec{name: name, scenario: strings.ReplaceAll(twin, "%s", strconv.Itoa(i))})
		points := n.next("a scrape with processes", func(p harness.Points) bool {
			return full(8)(p) && len(p.Select("process.gpu.utilization")) > 0
		})
		for _, p := range points {
			other, twice := seen[p.Key()]
			require.False(t, twice, "%s of %v and of %v", p.Key(), p.Resource, other.Resource)
			seen[p.Key()] = p
			assert.Equal(t, name, p.Resource["host.name"])
		}
	}
}

const gateway = `
receivers:
  otlp: {protocols: {http: {endpoint: OTLP}}}
exporters:
  prometheus/flat: {endpoint: FLAT}
  prometheus/whole: {endpoint: WHOLE, resource_constant_labels: {included: ["*"]}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    metrics: {receivers: [otlp], exporters: [prometheus/flat, prometheus/whole]}
`

// A Prometheus endpoint that two nodes share has as many series without resources as with them.
func TestGatewayWithoutResources(t *testing.T) {
	t.Parallel()
	otlp, flat, whole := freeAddress(t), freeAddress(t), freeAddress(t)
	process, err := harness.Collector(harness.Options{Binary: binary(t), Dir: t.TempDir()},
		strings.NewReplacer("OTLP", otlp, "FLAT", flat, "WHOLE", whole).Replace(gateway))
	require.NoError(t, err)
	t.Cleanup(process.Kill)

	var nodes []*node
	for i, name := range []string{"node-a", "node-b"} {
		s := spec{name: name, scenario: strings.ReplaceAll(twin, "%s", strconv.Itoa(i))}
		n := prepare(t, s)
		s.replace = map[string]string{
			"otlp_http: {endpoint: " + n.sink.URL + "}": "otlp_http: {endpoint: " + n.sink.URL + "}\n  otlp_http/gateway: {endpoint: http://" + otlp + "}",
			"[otlp_http, prometheus]":                   "[otlp_http, otlp_http/gateway, prometheus]",
		}
		n.run(s)
		n.next("a scrape with processes", func(p harness.Points) bool {
			return full(8)(p) && len(p.Select("process.gpu.utilization")) > 0
		})
		nodes = append(nodes, n)
	}
	eventually(t, patience, "every point as a series", func() bool {
		points := 0
		for _, n := range nodes {
			points += len(harness.Flatten(n.sink.Last()))
		}
		return len(readPage(t, "http://"+whole+"/metrics")) == points && len(readPage(t, "http://"+flat+"/metrics")) == points
	})
}
