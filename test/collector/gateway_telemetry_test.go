// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// A gateway's own telemetry arrives at its backend, with the headers that the backend requires. It has TLS if the data has it.
func TestGatewayTelemetryByOTLP(t *testing.T) {
	t.Parallel()
	for name, encrypted := range map[string]bool{"without TLS": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			sink := harness.NewSink()
			t.Cleanup(func() { assert.NoError(t, sink.Close()) })
			checked := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
				if md, _ := metadata.FromIncomingContext(ctx); !slices.Equal(md.Get("authorization"), []string{"Bearer open-sesame"}) {
					return nil, status.Error(codes.Unauthenticated, "no token")
				}
				return handler(ctx, request)
			}
			options, variables := []grpc.ServerOption{grpc.UnaryInterceptor(checked)}, []string{"OTLP_HEADERS={authorization: Bearer open-sesame}", "POD_NAME=gateway-0"}
			if encrypted {
				own := newAuthority(t, "backend")
				server := own.pair(t, 2)
				options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(&server)))
				variables = append(variables, "OTLP_INSECURE=false", "SSL_CERT_FILE="+trust(t, dir, own))
			}
			backend, stop, err := sink.ServeGRPCAt("127.0.0.1:0", options...)
			require.NoError(t, err)
			t.Cleanup(stop)
			gateway := telemetryGateway(t, dir, append(variables, "OTLP_ENDPOINT="+backend))

			eventually(t, patience, "the gateway's own telemetry", func() bool {
				return len(harness.Flatten(sink.Last()).Select("otelcol_exporter_queue_capacity", "exporter", "otlp_grpc")) > 0
			})
			points := harness.Flatten(sink.Last())
			assert.Equal(t, "gpureceiver-gateway", points[0].Resource["service.name"])
			assert.Equal(t, "gateway-0", points[0].Resource["service.instance.id"])
			code, _, err := gateway.Interrupt(patience)
			require.NoError(t, err)
			assert.Zero(t, code)
		})
	}
}

// telemetryGateway starts a gateway that sends its own telemetry twice a second.
func telemetryGateway(t *testing.T, dir string, variables []string) *harness.Process {
	t.Helper()
	config := filepath.Join(root(t), "config")
	text, err := os.ReadFile(filepath.Join(config, "overlays", "telemetry-otlp.yaml"))
	require.NoError(t, err)
	overlay := filepath.Join(dir, "overlay.yaml")
	replaceFile(t, overlay, []byte(strings.Replace(string(text), "interval: 30000", "interval: 500", 1)))
	args := []string{
		harness.FeatureGates, "--config", filepath.Join(config, "gateway.yaml"), "--config", overlay,
	}
	for key, value := range map[string]string{
		"receivers::otlp::protocols::grpc::endpoint": freeAddress(t), "receivers::otlp::protocols::http::endpoint": freeAddress(t),
		"exporters::gpu_view::endpoint": freeAddress(t), "extensions::health_check::http::endpoint": freeAddress(t),
	} {
		args = append(args, "--config=yaml:"+key+": "+value)
	}
	gateway, err := harness.Start(harness.Options{Binary: binary(t), Dir: dir, Args: args, Env: variables})
	require.NoError(t, err)
	t.Cleanup(func() {
		gateway.Kill()
		if t.Failed() {
			t.Logf("the gateway:\n%s", gateway.Output())
		}
	})
	return gateway
}
