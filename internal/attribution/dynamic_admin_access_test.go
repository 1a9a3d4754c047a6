// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/otelgpu/gpureceiver/internal/attribution/deviceid"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// resourceClaim returns a claim that was given devices of the pool n1, for administration or not.
func resourceClaim(name string, admin bool, devices ...string) *unstructured.Unstructured {
	var results []any
	for _, device := range devices {
		result := map[string]any{"request": "r", "driver": deviceid.DriverNVIDIA, "pool": "n1", "device": device}
		if admin {
			result["adminAccess"] = true
		}
		results = append(results, result)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
		"metadata": map[string]any{"namespace": "ml", "name": name},
		"status":   map[string]any{"allocation": map[string]any{"devices": map[string]any{"results": results}}},
	}}
}

// claims gives a machine an API server with these claims.
func (m *machine) claims(claims ...runtime.Object) *dynamicfake.FakeDynamicClient {
	m.t.Helper()
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), claims...)
	m.clients.Dynamic = client
	m.serveSlices()
	return client
}

// A claim with adminAccess looks after a GPU. It does not hold the GPU and leaves it to its holder.
func TestAdminAccess(t *testing.T) {
	m := newMachine(t, nil, podOf(train), podOf(infer))
	m.claims(resourceClaim("own", false, "gpu-0"), resourceClaim("monitor", true, "gpu-0", "gpu-1"))
	m.start()
	monitor := kubelettest.Claimed(infer.name, "monitor", deviceid.DriverNVIDIA, "gpu-0", "nvidia.com/gpu="+uuid(0))
	monitor.DynamicResources = append(monitor.DynamicResources,
		kubelettest.Claimed(infer.name, "monitor", deviceid.DriverNVIDIA, "gpu-1", "nvidia.com/gpu="+uuid(1)).DynamicResources...)
	m.kubelet.Set(
		kubelettest.Pod(infer.pod, monitor),
		kubelettest.Pod(train.pod, kubelettest.Claimed(train.name, "own", deviceid.DriverNVIDIA, "gpu-0", "nvidia.com/gpu="+uuid(0))))
	for range 2 {
		node := m.apply(nodeOf(device(0), device(1)), 10)
		require.Empty(t, node.Problems)
		require.Len(t, node.Containers, 1)
		u := use(t, node, train.joined(), uuid(0))
		assert.Equal(t, gpu.SharingExclusive, u.Sharing, "it does not share the GPU")
		inDelta(t, 0.8, general(u))
		assert.True(t, node.Devices[1].HoldersKnown)
		assert.Empty(t, node.Devices[1].Holders, "free")
	}
}

// Claims that may not be read count as holders of their devices, and the problem is reported.
func TestClaimsUnreadable(t *testing.T) {
	m := newMachine(t, nil, podOf(train))
	client := m.claims(resourceClaim("monitor", true, "gpu-0"))
	requests := 0
	client.PrependReactor("get", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
		requests++
		return true, nil, errors.New("forbidden")
	})
	m.start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Claimed(train.name, "monitor", deviceid.DriverNVIDIA, "gpu-0", "nvidia.com/gpu="+uuid(0))))
	for range 2 {
		node := m.apply(nodeOf(device(0)), 10)
		require.Len(t, node.Problems, 1)
		require.ErrorContains(t, node.Problems[0].Err, "resourceclaims.resource.k8s.io ml/monitor: forbidden")
		assert.Len(t, node.Devices[0].Holders, 1)
	}
	assert.Equal(t, 1, requests)
}

// The claims of a node with many are requested a few at a time, each once.
func TestManyClaims(t *testing.T) {
	m := newMachine(t, nil, podOf(train))
	client := m.claims()
	m.start()
	container := kubelettest.Claimed(train.name, "c", deviceid.DriverNVIDIA, "gpu-0", "nvidia.com/gpu="+uuid(0))
	for i := range 2 * maxClaims {
		container.DynamicResources = append(container.DynamicResources,
			kubelettest.Claimed(train.name, fmt.Sprint("c", i), deviceid.DriverNVIDIA, "gpu-0", "nvidia.com/gpu="+uuid(0)).DynamicResources...)
	}
	container.DynamicResources = append(container.DynamicResources,
		kubelettest.Claimed(train.name, "network", "dra.net", "eth0").DynamicResources...)
	m.kubelet.Set(kubelettest.Pod(train.pod, container))
	for _, want := range []int{maxClaims, 2 * maxClaims, 2*maxClaims + 1, 2*maxClaims + 1} {
		require.Empty(t, m.apply(nodeOf(device(0)), 10).Problems)
		assert.Len(t, client.Actions(), want)
	}
}
