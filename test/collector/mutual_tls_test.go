// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

const (
	rotatedAgent   = "exporters: {otlp_grpc: {tls: {reload_interval: 100ms}}}\n"
	rotatedGateway = "receivers: {otlp: {protocols: {grpc: {tls: {reload_interval: 100ms}, keepalive: {server_parameters: {max_connection_age: 1s, max_connection_age_grace: 1s}}}}}}\n"
)

// Agents and a gateway show each other certificates, with the shipped configurations and overlays. Certificates change while both run: data of the agent
// that has a new one go on, and the agent whose authority the gateway does not trust any more is refused, which its log says.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	before, after, foreign := newAuthority(t, "before"), newAuthority(t, "after"), newAuthority(t, "foreign")
	directory := func(serial int64) string {
		dir := t.TempDir()
		trust(t, dir, before)
		before.writePair(t, dir, serial)
		return dir
	}
	gatewayDir, stayingDir, revokedDir := directory(10), directory(20), directory(30)

	staying, revoked := prepare(t, spec{}), prepare(t, spec{})
	backend, stop, err := staying.sink.ServeGRPC()
	require.NoError(t, err)
	t.Cleanup(stop)
	overlay := filepath.Join(t.TempDir(), "overlay.yaml")
	require.NoError(t, os.WriteFile(overlay, []byte(rotatedGateway), 0o600))
	config := filepath.Join(root(t), "config")
	gateway, err := harness.StartGateway(harness.Options{Binary: binary(t), Dir: t.TempDir(), Env: []string{"OTLP_TLS_DIR=" + gatewayDir}},
		filepath.Join(config, "gateway.yaml"), backend, filepath.Join(config, "overlays", "mtls-gateway.yaml"), overlay)
	require.NoError(t, err)
	t.Cleanup(func() {
		gateway.Kill()
		if t.Failed() {
			t.Logf("the gateway:\n%s", gateway.Output())
		}
	})
	agent := func(n *node, name, dir string) {
		s := shipped{
			configs:  []string{"agent.yaml", filepath.Join("overlays", "mtls-agent.yaml")},
			scrapers: fmt.Sprintf("scrapers: {nvml: {library_path: %q}}", simulator(t).Full), more: rotatedAgent,
			env: append(n.environment(), "OTLP_ENDPOINT="+gateway.GRPC, "OTLP_TLS_DIR="+dir, "K8S_NODE_NAME="+name),
		}
		n.page, n.process = s.start(t, n.dir, n.sink)
	}
	agent(staying, "staying", stayingDir)
	agent(revoked, "revoked", revokedDir)
	pointsOf := func(name string) func(harness.Points) bool {
		return func(points harness.Points) bool { return full(8)(points) && points[0].Resource["host.name"] == name }
	}
	staying.next("data of one", pointsOf("staying"))
	staying.next("data of the other", pointsOf("revoked"))

	trust(t, gatewayDir, before, after)
	before.writePair(t, gatewayDir, 11)
	eventually(t, patience, "the gateway shows its new certificate, and takes either authority", func() bool {
		serial, err := handshake(gateway.GRPC, after.pair(t, 40))
		return err == nil && serial == 11
	})
	after.writePair(t, stayingDir, 21)
	staying.next("data with either authority", pointsOf("staying"))
	staying.next("of either agent", pointsOf("revoked"))

	trust(t, gatewayDir, after)
	eventually(t, patience, "the log of the agent says that it is refused", func() bool {
		return strings.Contains(revoked.process.Output(), "remote error: tls: unknown certificate authority")
	})
	for range 3 { // connections end after a second
		staying.next("data of the agent with the new certificate", pointsOf("staying"))
	}

	_, err = handshake(gateway.GRPC, foreign.pair(t, 41))
	require.ErrorContains(t, err, "tls: unknown certificate authority")
	_, err = handshake(gateway.GRPC, tls.Certificate{})
	require.ErrorContains(t, err, "tls: certificate required")
	for _, address := range []string{gateway.GRPC, strings.TrimPrefix(gateway.HTTP, "http://")} {
		_, err = handshake(address, before.pair(t, 42))
		require.ErrorContains(t, err, "tls: unknown certificate authority", address)
	}
}

// handshake connects to a server with a client's certificate, without regard to the authorities that the server names, and returns the
// serial number of the server's once the server has accepted it.
func handshake(address string, certificate tls.Certificate) (serial int64, err error) {
	connection, err := tls.Dial("tcp", address, &tls.Config{
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil },
		InsecureSkipVerify:   true, NextProtos: []string{"h2"}, // what the client trusts is not what is tested
	})
	if err != nil {
		return 0, err
	}
	defer func() { _ = connection.Close() }()
	// With TLS 1.3 the client learns only after its handshake whether it is accepted: the server starts with its settings of HTTP/2, or
	// with an alert.
	if _, err := connection.Read(make([]byte, 1)); err != nil {
		return 0, err
	}
	return connection.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), nil
}
