// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configtls"
)

// secure gives the configuration a certificate for 127.0.0.1, and returns a client that trusts it.
func (c *Config) secure(t *testing.T) *http.Client {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	dir := t.TempDir()
	server := configtls.NewDefaultServerConfig()
	server.CertFile, server.KeyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(server.CertFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(server.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	c.Server.TLS = configoptional.Some(server)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

func TestTLS(t *testing.T) {
	cfg := testConfig()
	client := cfg.secure(t)
	s := startServer(t, cfg, componenttest.NewNopHost(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.NotNil(t, r.TLS)
		w.Header().Set("Protocol", r.Proto)
	}))
	assert.Contains(t, s.url(), "https://127.0.0.1:")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url(), http.NoBody)
	require.NoError(t, err)
	got := ask(t, client, request)
	assert.Equal(t, http.StatusOK, got.status)
	assert.Equal(t, "HTTP/2.0", got.header.Get("Protocol"))

	plain := get(t, "http://"+s.listener.Addr().String()+"/")
	assert.Equal(t, http.StatusBadRequest, plain.status, "without TLS nothing is served")
}

// 1,000 connections that never speak TLS end with read_header_timeout, too.
func TestHalfHandshakes(t *testing.T) {
	cfg := testConfig()
	client := cfg.secure(t)
	cfg.Server.ReadHeaderTimeout = time.Second
	s := startServer(t, cfg, componenttest.NewNopHost(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	dial(t, s.listener.Addr().String(), 1000, "\x16\x03\x01")
	answers(t, client, s.url()) // the limit is for its own handshake, too
}

func TestCertificateMissing(t *testing.T) {
	cfg := testConfig()
	server := configtls.NewDefaultServerConfig()
	server.CertFile, server.KeyFile = "/nowhere/cert.pem", "/nowhere/key.pem"
	cfg.Server.TLS = configoptional.Some(server)
	_, err := listen(t.Context(), cfg, componenttest.NewNopHost(), componenttest.NewNopTelemetrySettings(), http.NotFoundHandler())
	require.ErrorContains(t, err, "tls: ")
}
