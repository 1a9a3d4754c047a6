// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"bytes"
	"compress/gzip"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// startGateway starts the shipped gateway, and returns its addresses for OTLP over gRPC and HTTP and the address of the page.
func startGateway(t *testing.T, backend string) (overGRPC, overHTTP, shown string, gateway *harness.Process) {
	t.Helper()
	overGRPC, overHTTP, shown = freeAddress(t), freeAddress(t), freeAddress(t)
	config := shippedAt(t, "gateway.yaml", map[string]string{
		"0.0.0.0:4317": overGRPC, "0.0.0.0:4318": overHTTP, "127.0.0.1:9410": shown, "0.0.0.0:13133": freeAddress(t),
	})
	const telemetry = "{host: 0.0.0.0, port: 8888}"
	require.Contains(t, config, telemetry)
	_, port, err := net.SplitHostPort(freeAddress(t))
	require.NoError(t, err)
	gateway, err = harness.Collector(harness.Options{Binary: binary(t), Dir: t.TempDir(), Env: []string{"OTLP_ENDPOINT=" + backend}},
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
	return overGRPC, overHTTP, shown, gateway
}

// Agents send to the shipped gateway, which shows the GPUs of all of them and passes everything on to a backend.
func TestGateway(t *testing.T) {
	t.Parallel()
	backend := harness.NewSink()
	t.Cleanup(func() { assert.NoError(t, backend.Close()) })
	endpoint, stop, err := backend.ServeGRPC()
	require.NoError(t, err)
	t.Cleanup(stop)
	overGRPC, _, shown, gateway := startGateway(t, endpoint)

	for name, scenario := range map[string]string{
		"node-a": "gpus = 4\n[gpu *]\nuuid = GPU-a{i}\n", "node-b": "gpus = 4\n[gpu *]\nuuid = GPU-b{i}\n",
	} {
		n := start(t, spec{name: name, scenario: scenario, replace: map[string]string{
			"{node_name: " + name + "}":          "{node_name: " + name + ", cluster_name: prod}",
			"\nexporters:":                       "\nexporters:\n  otlp_grpc: {endpoint: \"" + overGRPC + "\", tls: {insecure: true}}",
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

// A small message that is long when it is decompressed is refused over gRPC as over HTTP, before it is decompressed as a whole.
func TestGzipBombs(t *testing.T) {
	t.Parallel()
	overGRPC, overHTTP, shown, gateway := startGateway(t, freeAddress(t))
	logs := plog.NewLogs()
	logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr(strings.Repeat("x", 64<<20))
	bomb := plogotlp.NewExportRequestFromLogs(logs)

	conn, err := grpc.NewClient(overGRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = plogotlp.NewGRPCClient(conn).Export(t.Context(), bomb, grpc.UseCompressor("gzip"), grpc.WaitForReady(true))
	assert.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)

	data, err := bomb.MarshalProto()
	require.NoError(t, err)
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	_, err = z.Write(data)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+overHTTP+"/v1/logs", &body)
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("Content-Encoding", "gzip")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Contains(t, []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge}, response.StatusCode)

	_, _, err = harness.Get(t.Context(), "http://"+shown+"/healthz")
	require.NoError(t, err, "it is still there")
	gateway.Kill()
}
