// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package exec

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/test/collector/harness"
	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

// testGateway reads two clusters, one of them down, and sends what it reads to a gateway with the shipped configuration. The gateway
// shows both clusters and passes everything on.
func testGateway(t *testing.T, s *stage) {
	o := newOutlet(t)
	backend, stop, err := o.ServeGRPC()
	require.NoError(t, err)
	t.Cleanup(stop)
	file, err := filepath.Abs(filepath.Join("..", "..", "..", "config", "gateway.yaml"))
	require.NoError(t, err)
	gateway, err := harness.StartGateway(harness.Options{Binary: s.collector, Dir: t.TempDir()}, file, backend)
	require.NoError(t, err)
	t.Cleanup(func() {
		code, _, err := gateway.Interrupt(30 * time.Second)
		assert.NoError(t, err)
		assert.Zero(t, code)
		if t.Failed() {
			t.Logf("the gateway:\n%s", gateway.Output())
		}
	})

	dir := t.TempDir()
	b := &beside{token: filepath.Join(dir, "token")}
	b.setToken(t, s.Token(t, accounts, shippedAccount, nil))
	access := ", token_file: " + b.token + ", ca_file: " + s.PKI("ca.crt")
	b.run(t, s.collector, dir, config(gateway.HTTP, "endpoint: 'https://"+s.NodeIP()+"'"+access+
		"}, {name: other, endpoint: 'https://127.0.0.1:1'"+access, "node_labels: [kubernetes.io/hostname]"))

	requireNode(t, o.next(t, twoGPUs)) // the backend behind the gateway
	var node view.Node
	path := "/api/v1/gpu/nodes/" + clusterName + "/" + cluster.NodeName
	eventually(t, "the gateway shows both GPUs", func() bool { return gateway.Read(t.Context(), path, &node) == nil && len(node.GPUs) == 2 })
	assert.Equal(t, cluster.NodeName, node.Name)
	assert.Equal(t, clusterName, *node.Cluster)
	assert.Equal(t, view.Live, node.State)
	require.NotNil(t, node.Readable)
	assert.True(t, *node.Readable)
	assert.Equal(t, 2, *node.GPUCount)
	assert.Equal(t, map[string]string{"kubernetes.io/hostname": cluster.NodeName}, node.Labels)
	g := node.GPUs[0]
	assert.Equal(t, "nvidia0", *g.Name)
	assert.Equal(t, "ok", *g.Status)
	assert.InDelta(t, 61, *g.Temperatures[0].Celsius, 0)
	assert.InDelta(t, 0.42, *g.Utilization.General, 1e-9)
	assert.InDelta(t, 310.25, *g.Power.Watts, 1e-9)
	assert.InDelta(t, 5120<<20, *g.Memory.Used, 0)

	var other view.Cluster
	eventually(t, "the gateway shows that a cluster cannot be read", func() bool {
		var info view.Info
		require.NoError(t, gateway.Read(t.Context(), "/api/v1/gpu/info", &info))
		for _, c := range info.Clusters {
			if c.Name == "other" {
				other = c
			}
		}
		return other.Readable != nil
	})
	assert.False(t, *other.Readable)
	require.NotEmpty(t, other.Sources)
	assert.Equal(t, "kubernetes_exec", other.Sources[0].Name)
	assert.NotEmpty(t, other.Sources[0].Reasons)

	var problem view.Problem
	status, body, err := gateway.Get(t.Context(), "/api/v1/gpu/nodes?cluster=other")
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, status, "%s", body)
	require.NoError(t, json.Unmarshal(body, &problem))
	assert.NotEmpty(t, problem.Reasons)

	var sums view.List[view.Summary]
	require.NoError(t, gateway.Read(t.Context(), "/api/v1/gpu/summary?cluster="+clusterName, &sums))
	require.Len(t, sums.Items, 1)
	assert.Equal(t, 1, sums.Items[0].Nodes)
	assert.Equal(t, 2, sums.Items[0].GPUs)

	status, body, err = gateway.Get(t.Context(), "/")
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, string(body), "<html", "the page")
}
