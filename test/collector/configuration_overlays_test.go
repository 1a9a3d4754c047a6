// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// The overlays fit each configuration that their comments name.
func TestConfigurationOverlays(t *testing.T) {
	t.Parallel()
	config := filepath.Join(root(t), "config")
	for name, fits := range map[string][]string{
		"persistent-queue.yaml":        {"agent.yaml", "agent-kubernetes.yaml", "exec.yaml"},
		"telemetry-otlp.yaml":          {"agent.yaml", "agent-kubernetes.yaml", "amd.yaml", "cluster.yaml", "exec.yaml", "gateway.yaml", "k8s-attributes.yaml"},
		"slurm.yaml":                   {"agent.yaml", "agent-prometheus.yaml"},
		"otlp-http.yaml":               {"agent.yaml", "agent-kubernetes.yaml", "amd.yaml", "exec.yaml", "k8s-attributes.yaml"},
		"otlp-token.yaml":              {"agent.yaml", "agent-kubernetes.yaml", "amd.yaml", "cluster.yaml", "exec.yaml", "gateway.yaml", "k8s-attributes.yaml"},
		"mtls-agent.yaml":              {"agent.yaml", "agent-kubernetes.yaml", "amd.yaml", "cluster.yaml", "exec.yaml", "k8s-attributes.yaml"},
		"mtls-gateway.yaml":            {"gateway.yaml"},
		"gateway-node-condition.yaml":  {"gateway.yaml"},
		"prometheus-otlp.yaml":         {"agent.yaml", "agent-kubernetes.yaml", "amd.yaml", "cluster.yaml", "exec.yaml", "k8s-attributes.yaml"},
		"prometheus-remote-write.yaml": {"agent.yaml", "agent-kubernetes.yaml", "amd.yaml", "cluster.yaml", "exec.yaml", "k8s-attributes.yaml"},
	} {
		overlay := filepath.Join(config, "overlays", name)
		text, err := os.ReadFile(overlay)
		require.NoError(t, err)
		for _, base := range fits {
			assert.Contains(t, string(text), base, name)
			code, output := run(t, "validate", harness.FeatureGates, "--config", filepath.Join(config, base), "--config", overlay)
			assert.Zero(t, code, "%s, %s: %s", base, name, output)
		}
	}
}
