// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

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
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

const guarded = `
receivers:
  gpu:
    collection_interval: 500ms
    timeout: 500ms
    scrapers: {nvml: {library_path: LIBRARY}}
extensions:
  basicauth: {htpasswd: {inline: "alice:open sesame"}}
  bearertokenauth: {token: open-sesame}
exporters:
  gpu_view/basic: {endpoint: BASIC, auth: {authenticator: basicauth}}
  gpu_view/bearer: {endpoint: BEARER, auth: {authenticator: bearertokenauth}, tls: {cert_file: CERT, key_file: KEY}}
service:
  extensions: [basicauth, bearertokenauth]
  telemetry: {metrics: {level: none}}
  pipelines:
    metrics: {receivers: [gpu], exporters: [gpu_view/basic, gpu_view/bearer]}
    logs: {receivers: [gpu], exporters: [gpu_view/basic, gpu_view/bearer]}
`

// certificate writes a certificate for 127.0.0.1 and its key, and returns their files and a client that trusts it.
func certificate(t *testing.T, dir string) (cert, key string, client *http.Client) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	require.NoError(t, os.WriteFile(cert, certPEM, 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), 0o600))
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(certPEM))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return cert, key, &http.Client{Transport: transport, Timeout: patience}
}

// With the Collector's own authenticators, and TLS, nothing is served without valid credentials, and everything with them.
func TestViewAccess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, secure := certificate(t, dir)
	basic, bearer := freeAddress(t), freeAddress(t)
	process, err := harness.Collector(harness.Options{Binary: binary(t), Dir: dir}, strings.NewReplacer(
		"LIBRARY", simulator(t).Full, "BASIC", basic, "BEARER", bearer, "CERT", cert, "KEY", key).Replace(guarded))
	require.NoError(t, err)
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			t.Log(process.Output())
		}
	})
	eventually(t, patience, "it serves", func() bool {
		_, _, err := harness.Get(t.Context(), "http://"+basic+"/healthz")
		_, _, other := harness.Get(t.Context(), "http://"+bearer+"/healthz")
		return err == nil && other == nil
	})
	for _, c := range []struct {
		name, url, challenge string
		client               *http.Client
		right, wrong         func(*http.Request)
	}{
		{
			"basicauth", "http://" + basic, "Basic ", http.DefaultClient,
			func(r *http.Request) { r.SetBasicAuth("alice", "open sesame") }, func(r *http.Request) { r.SetBasicAuth("alice", "x") },
		},
		{
			"bearertokenauth", "https://" + bearer, "Bearer", secure,
			func(r *http.Request) { r.Header.Set("Authorization", "Bearer open-sesame") },
			func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			ask := func(path string, credentials func(*http.Request)) *http.Response {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+path, http.NoBody)
				require.NoError(t, err)
				credentials(request)
				response, err := c.client.Do(request)
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				return response
			}
			for _, path := range []string{"/", "/healthz", "/api/v1/gpu/nodes", "/api/v1/gpu/stream", "/gpu/metrics"} {
				for _, credentials := range []func(*http.Request){c.wrong, func(*http.Request) {}} {
					refused := ask(path, credentials)
					assert.Equal(t, http.StatusUnauthorized, refused.StatusCode, path)
					assert.True(t, strings.HasPrefix(refused.Header.Get("WWW-Authenticate"), c.challenge))
				}
			}
			assert.Equal(t, http.StatusOK, ask("/api/v1/gpu/nodes", c.right).StatusCode)
		})
	}
	status, _, err := harness.Get(t.Context(), "http://"+bearer+"/healthz")
	require.NoError(t, err)
	assert.Equal(t, http.StatusBadRequest, status, "without TLS")
	assert.NotContains(t, process.Output(), "sesame")
}
