// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

func TestHost(t *testing.T) {
	hostname, err := os.Hostname()
	require.NoError(t, err)
	tests := map[string]struct {
		pod           bool
		node, cluster string
		want          gpu.Host
		fails         string
	}{
		"bare metal":             {want: gpu.Host{Name: hostname}},
		"bare metal, named":      {node: "rack-7", want: gpu.Host{Name: "rack-7", NodeName: "rack-7"}},
		"in a pod":               {pod: true, node: "node-a", cluster: "prod", want: gpu.Host{Name: "node-a", NodeName: "node-a", ClusterName: "prod"}},
		"in a pod without names": {pod: true, cluster: "prod", want: gpu.Host{ClusterName: "prod"}, fails: "attribution::node_name"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			if test.pod {
				t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
			}
			cfg := createDefaultConfig().(*Config)
			cfg.Attribution.NodeName, cfg.Attribution.ClusterName = test.node, test.cluster
			host, err := localHost(cfg)
			assert.Equal(t, test.want, host)
			if test.fails == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.fails)
				require.ErrorContains(t, err, "${env:K8S_NODE_NAME}")
			}
		})
	}
}

// In a pod the hostname is the pod's: without node_name the names are omitted. This is logged once, not for each pipeline.
func TestPodWithoutNodeName(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	r := newRig(t, map[string]gpu.Source{"nvml": always(healthy("GPU-1"))})
	r.cfg.Attribution.NodeName = ""
	r.run(r.newMetrics(), r.newLogs())
	eventually(t, func() bool { return len(r.metrics.AllMetrics()) > 0 }, "it runs")
	points := otlptest.Points(r.metrics.AllMetrics()[0])
	require.NotEmpty(t, points)
	for _, p := range points {
		assert.Empty(t, p.Resource)
		assert.NotContains(t, p.Attributes, "host.name")
		assert.NotContains(t, p.Attributes, "k8s.node.name")
	}
	require.Len(t, r.log.All(), 1)
	assert.Equal(t, "No host name", r.log.All()[0].Message)
	assert.Contains(t, r.log.All()[0].ContextMap()["error"], "attribution::node_name")
}
