// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// A receiver that was created and never started can be shut down. A process's command line can be requested.
func TestFactory(t *testing.T) {
	f := NewFactory()
	assert.Equal(t, metadata.Type, f.Type())
	cfg := f.CreateDefaultConfig().(*Config)
	cfg.Attribution.NodeName = "n1"
	cfg.ResourceAttributes.ProcessCommandLine.Enabled = true
	settings := receivertest.NewNopSettings(metadata.Type)
	m, err := f.CreateMetrics(t.Context(), settings, cfg, consumertest.NewNop())
	require.NoError(t, err)
	l, err := f.CreateLogs(t.Context(), settings, cfg, consumertest.NewNop())
	require.NoError(t, err)
	require.NoError(t, m.Shutdown(t.Context()))
	require.NoError(t, l.Shutdown(t.Context()))
}

// An unknown authentication and an unusable resource are refused by key.
func TestClusterConfigCheck(t *testing.T) {
	_, err := load(t, "scrapers: {kubernetes_cluster: {auth_type: nonsense}}")
	require.ErrorContains(t, err, "scrapers::kubernetes_cluster::auth_type: ")
}

// TestUnreadableCredentials: credentials that cannot be read fail the start.
func TestUnreadableCredentials(t *testing.T) {
	r := newRig(t, map[string]gpu.Source{"nvml": always(healthy("GPU-1"))})
	r.cfg.Attribution.Owners = &attribution.OwnersConfig{API: kube.Config{
		Endpoint: "https://127.0.0.1:1", TokenFile: filepath.Join(t.TempDir(), "missing"), InsecureSkipVerify: true,
	}}
	m := r.newMetrics()
	require.ErrorContains(t, m.Start(t.Context(), r.host), "attribution::owners: kube: failed to read token file")
	require.NoError(t, m.Shutdown(t.Context()))
	assert.Len(t, r.messages("attribution::owners: the API server's certificate is not verified"), 1)
}
