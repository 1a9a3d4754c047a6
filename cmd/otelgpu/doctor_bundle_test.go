// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// secretConfig has a secret wherever a configuration can have one.
const secretConfig = `
receivers:
  gpu:
    collection_interval: ${env:DOCTOR_INTERVAL:-20s}
    scrapers:
      kubernetes_cluster:
        auth_type: none
        endpoint: http://127.0.0.1:1
  otlp/s:
    protocols: {grpc: {endpoint: "127.0.0.1:4317"}}
exporters:
  otlp_grpc:
    endpoint: https://user:s3cret-1@127.0.0.1:1
    headers: {authorization: "Bearer s3cret-2", other: "${env:DOCTOR_SECRET}", number: 5333333}
    tls: {insecure: true, key_pem: s3cret-4}
extensions:
  basicauth/client:
    client_auth: {username: s3cret-5, password: "${env:DOCTOR_SECRET:-s3cret-6}"}
service:
  extensions: [basicauth/client]
  telemetry: {resource: {token: s3cret-7}}
  pipelines:
    metrics: {receivers: [gpu], exporters: [otlp_grpc]}
`

// files unpacks a bundle.
func files(t *testing.T, name string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	got := map[string]string{}
	for archive := tar.NewReader(zipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		require.NoError(t, err)
		text, err := io.ReadAll(archive)
		require.NoError(t, err)
		got[path.Base(header.Name)] = string(text)
	}
}

// What is sent with an issue has the configuration's settings for GPUs and its pipelines, and no secret of it.
func TestDoctorBundle(t *testing.T) {
	dir := t.TempDir()
	config, bundle := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "bundle.tar.gz")
	require.NoError(t, os.WriteFile(config, []byte(secretConfig), 0o600))
	t.Setenv("DOCTOR_SECRET", "s3cret-8")
	got := finish(t, doctorCommand(t, "--config", config, "--bundle", bundle))
	assert.Equal(t, 1, got.code, "nothing listens there")
	assert.Empty(t, got.err)
	assert.NotContains(t, got.out, "s3cret")
	info, err := os.Stat(bundle)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	result := files(t, bundle)
	for name, text := range result {
		assert.NotContains(t, text, "s3cret", name)
		assert.NotContains(t, text, "5333333", name)
	}
	for _, name := range []string{"doctor.json", "doctor.txt", "versions.txt", "device-nodes.txt", "kernel.txt", "config.yaml"} {
		assert.Contains(t, result, name)
	}
	assert.Equal(t, got.out, result["doctor.txt"])
	assert.Contains(t, result["doctor.txt"], "connection refused")
	assert.YAMLEq(t, `
receivers:
  gpu:
    collection_interval: ${env:DOCTOR_INTERVAL:-20s}
    scrapers: {kubernetes_cluster: {auth_type: none, endpoint: "http://127.0.0.1:1"}}
  otlp/s: {protocols: {grpc: {endpoint: "[removed]"}}}
exporters:
  otlp_grpc:
    endpoint: "[removed]"
    headers: {authorization: "[removed]", other: "${env:DOCTOR_SECRET}", number: "[removed]"}
    tls: {insecure: true, key_pem: "[removed]"}
extensions:
  basicauth/client: {client_auth: {username: "[removed]", password: "[removed]"}}
service:
  extensions: [basicauth/client]
  telemetry: {resource: {token: "[removed]"}}
  pipelines: {metrics: {receivers: [gpu], exporters: [otlp_grpc]}}
`, result["config.yaml"])

	piped := finish(t, doctorCommand(t, "--config", config, "--bundle", "-"))
	assert.Equal(t, 1, piped.code)
	assert.Empty(t, piped.err)
	written := filepath.Join(dir, "piped.tar.gz")
	require.NoError(t, os.WriteFile(written, []byte(piped.out), 0o600))
	assert.Equal(t, result["config.yaml"], files(t, written)["config.yaml"])

	again := finish(t, doctorCommand(t, "--config", config, "--bundle", bundle))
	assert.Equal(t, 1, again.code)
	assert.Contains(t, again.err, "write the bundle: open "+bundle+": file exists")
}
