// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// The shipped configurations name the service that sends, and its instance: a node, also of those that kubernetes_exec reads, or a cluster.
func TestServiceOfShippedConfigurations(t *testing.T) {
	t.Parallel()
	binary(t)
	for _, c := range []struct {
		config            string
		resource          map[string]any
		service, instance string
	}{
		{"agent.yaml", map[string]any{"host.name": "machine"}, "gpureceiver-agent", "machine"},
		{"amd.yaml", map[string]any{"host.name": "machine"}, "gpureceiver-agent", "machine"},
		{"agent-kubernetes.yaml", map[string]any{"container.id": "c1"}, "gpureceiver-agent", "prod/node-a"},
		{"k8s-attributes.yaml", map[string]any{"container.id": "c1"}, "gpureceiver-agent", "prod/node-a"},
		{"exec.yaml", map[string]any{"k8s.cluster.name": "lab", "k8s.node.name": "n7"}, "gpureceiver-exec", "lab/n7"},
		{"exec.yaml", map[string]any{"k8s.cluster.name": "lab"}, "gpureceiver-exec", "lab/"},
		{"cluster.yaml", map[string]any{"k8s.cluster.name": "prod"}, "gpureceiver-cluster", "prod/"},
	} {
		t.Run(fmt.Sprint(c.config, len(c.resource)), func(t *testing.T) {
			conf, err := confmaptest.LoadConf(filepath.Join(root(t), "config", c.config))
			require.NoError(t, err)
			processor, err := json.Marshal(conf.Get("processors::transform/service"))
			require.NoError(t, err)
			sink, address := harness.NewSink(), freeAddress(t)
			t.Cleanup(func() { assert.NoError(t, sink.Close()) })
			process, err := harness.Collector(harness.Options{Binary: binary(t), Dir: t.TempDir(), Env: []string{"K8S_NODE_NAME=node-a", "K8S_CLUSTER_NAME=prod"}},
				strings.NewReplacer("ADDRESS", address, "PROCESSOR", string(processor), "SINK", sink.URL).Replace(`
receivers: {otlp: {protocols: {http: {endpoint: ADDRESS}}}}
processors: {transform/service: PROCESSOR}
exporters: {otlp_http: {endpoint: SINK}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {metrics: {receivers: [otlp], processors: [transform/service], exporters: [otlp_http]}}
`))
			require.NoError(t, err)
			t.Cleanup(process.Kill)
			eventually(t, patience, "the collector serves", func() bool {
				require.True(t, process.Running(), process.Output())
				connection, err := net.Dial("tcp", address)
				if err == nil {
					_ = connection.Close()
				}
				return err == nil
			})
			metrics := pmetric.NewMetrics()
			rm := metrics.ResourceMetrics().AppendEmpty()
			require.NoError(t, rm.Resource().Attributes().FromRaw(c.resource))
			m := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
			m.SetName("hw.power")
			m.SetEmptyGauge().DataPoints().AppendEmpty().SetTimestamp(pcommon.Timestamp(1))
			send(t, "http://"+address+"/v1/metrics", metrics)
			var points harness.Points
			eventually(t, patience, "the message arrives", func() bool {
				points = harness.Flatten(sink.Last())
				return len(points) > 0
			})
			assert.Equal(t, c.service, points[0].Resource["service.name"])
			assert.Equal(t, c.instance, points[0].Resource["service.instance.id"])
		})
	}
}

// The collector's own telemetry names the same service, and an instance that no restart changes. Replicas need their pods' names.
func TestServiceOfOwnTelemetry(t *testing.T) {
	t.Parallel()
	binary(t)
	for name, c := range map[string]struct {
		config            string
		env               []string
		service, instance string
	}{
		"agent":       {"agent.yaml", []string{"HOSTNAME=machine"}, "gpureceiver-agent", "machine"},
		"amd":         {"amd.yaml", []string{"HOSTNAME=machine"}, "gpureceiver-agent", "machine"},
		"node":        {"agent-kubernetes.yaml", nil, "gpureceiver-agent", "prod/node-a"},
		"processor":   {"k8s-attributes.yaml", nil, "gpureceiver-agent", "prod/node-a"},
		"cluster":     {"cluster.yaml", nil, "gpureceiver-cluster", "prod/"},
		"exec":        {"exec.yaml", nil, "gpureceiver-exec", "prod/"},
		"exec-shards": {"exec.yaml", []string{"POD_NAME=gpureceiver-exec-5d9-x"}, "gpureceiver-exec", "prod/gpureceiver-exec-5d9-x"},
	} {
		t.Run(name, func(t *testing.T) {
			conf, err := confmaptest.LoadConf(filepath.Join(root(t), "config", c.config))
			require.NoError(t, err)
			resource, err := json.Marshal(conf.Get("service::telemetry::resource"))
			require.NoError(t, err)
			sink := harness.NewSink()
			t.Cleanup(func() { assert.NoError(t, sink.Close()) })
			process, err := harness.Collector(harness.Options{
				Binary: binary(t), Dir: t.TempDir(), Env: append([]string{"K8S_NODE_NAME=node-a", "K8S_CLUSTER_NAME=prod"}, c.env...),
			}, strings.NewReplacer("ADDRESS", freeAddress(t), "RESOURCE", string(resource), "SINK", sink.URL).Replace(`
receivers: {otlp: {protocols: {http: {endpoint: ADDRESS}}}}
exporters: {otlp_http: {endpoint: SINK}}
service:
  telemetry: {resource: RESOURCE, metrics: {readers: [{periodic: {interval: 100, exporter: {otlp: {protocol: http/protobuf, endpoint: SINK/v1/metrics}}}}]}}
  pipelines: {metrics: {receivers: [otlp], exporters: [otlp_http]}}
`))
			require.NoError(t, err)
			t.Cleanup(process.Kill)
			var points harness.Points
			eventually(t, patience, "telemetry arrives", func() bool {
				require.True(t, process.Running(), process.Output())
				points = harness.Flatten(sink.Last())
				return len(points) > 0
			})
			assert.Equal(t, c.service, points[0].Resource["service.name"])
			assert.Equal(t, c.instance, points[0].Resource["service.instance.id"])
		})
	}
}
