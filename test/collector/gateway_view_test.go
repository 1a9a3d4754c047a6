// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// Agents send to the shipped gateway, which shows the GPUs of all of them and passes everything on to a backend.
func TestGateway(t *testing.T) {
	t.Parallel()
	backend := harness.NewSink()
	t.Cleanup(func() { assert.NoError(t, backend.Close()) })
	endpoint, stop, err := backend.ServeGRPC()
	require.NoError(t, err)
	t.Cleanup(stop)
	grpc, web, shown, health := freeAddress(t), freeAddress(t), freeAddress(t), freeAddress(t)
	config := shippedAt(t, "gateway.yaml", map[string]string{
		"0.0.0.0:4317": grpc, "0.0.0.0:4318": web, "127.0.0.1:9410": shown, "0.0.0.0:13133": health,
	})
	const telemetry = "{host: 0.0.0.0, port: 8888}"
	require.Contains(t, config, telemetry)
	_, port, err := net.SplitHostPort(freeAddress(t))
	require.NoError(t, err)
	gateway, err := harness.Collector(harness.Options{Binary: binary(t), Dir: t.TempDir(), Env: []string{"OTLP_ENDPOINT=" + endpoint}},
		strings.Replace(config, telemetry, "{host: 127.0.0.1, port: "+port+"}", 1))
	require.NoError(t, err)
	t.Cleanup(func() {
		gateway.Kill()
		if t.Failed() {
			t.Log(gateway.Output())
		}
	})
	eventually(t, patience, "the gateway", func() bool {
		_, _, err := harness.Get(t.Context(), "http://"+shown+"/healthz")
		return err == nil
	})

	for name, scenario := range map[string]string{
		"node-a": "gpus = 4\n[gpu *]\nuuid = GPU-a{i}\n", "node-b": "gpus = 4\n[gpu *]\nuuid = GPU-b{i}\n",
	} {
		n := start(t, spec{name: name, scenario: scenario, replace: map[string]string{
			"{node_name: " + name + "}":          "{node_name: " + name + ", cluster_name: prod}",
			"\nexporters:":                       "\nexporters:\n  otlp_grpc: {endpoint: \"" + grpc + "\", tls: {insecure: true}}",
			"exporters: [otlp_http, prometheus]": "exporters: [otlp_http, prometheus, otlp_grpc]",
			"exporters: [otlp_http]":             "exporters: [otlp_http, otlp_grpc]",
		}})
		n.scrapes(1)
	}
	all := viewOf(t, "http://"+shown, 8)
	var nodes view.List[view.Node]
	eventually(t, patience, "two nodes that are live", func() bool {
		nodes = view.List[view.Node]{}
		require.True(t, askView(t, "http://"+shown+"/api/v1/gpu/nodes?cluster=prod", &nodes))
		return len(nodes.Items) == 2 && nodes.Items[0].State == view.Live && nodes.Items[1].State == view.Live
	})
	for i, name := range []string{"node-a", "node-b"} {
		assert.Equal(t, name, nodes.Items[i].Name)
		assert.Equal(t, "prod", *nodes.Items[i].Cluster)
		assert.Len(t, nodes.Items[i].GPUs, 4)
	}
	assert.Equal(t, 8, all.Summary.GPUs)
	for range 2 {
		_, err := backend.Next(t.Context(), full(4))
		require.NoError(t, err, "the backend gets what the agents send")
	}
	code, _, err := gateway.Interrupt(endsWithin)
	require.NoError(t, err)
	assert.Zero(t, code)
	assert.Empty(t, gateway.Complaints())
}
