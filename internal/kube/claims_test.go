// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const claimV1Beta1 = `
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
metadata: {namespace: ml, name: c1}
status:
  allocation:
    devices:
      results:
      - {request: look, driver: gpu.nvidia.com, pool: n1, device: gpu-0, adminAccess: true}
      - {request: use, driver: gpu.nvidia.com, pool: n1, device: gpu-1}
      - {request: look, driver: gpu.nvidia.com, pool: n1, device: gpu-2, adminAccess: true}
      - {request: use, driver: gpu.nvidia.com, pool: n1, device: gpu-2, adminAccess: false}
      - {request: use, driver: gpu.nvidia.com, pool: n1, device: gpu-3}
      - {request: look, driver: gpu.nvidia.com, pool: n1, device: gpu-3, adminAccess: true}
      - {request: any/first, driver: gpu.nvidia.com, pool: n1, device: gpu-4}
`

func newTestClaims(t *testing.T, objects ...runtime.Object) (c *Claims, client *dynamicfake.FakeDynamicClient, now *time.Time) {
	t.Helper()
	client = dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), objects...)
	c = NewClaims(&Clients{Kubernetes: fake.NewClientset(), Dynamic: client})
	c.resolve = func(_ context.Context, resource schema.GroupResource) (*meta.RESTMapping, error) {
		return mapped(resource, "v1beta1", "ResourceClaim", true), nil
	}
	start := time.Unix(1_700_000_000, 0)
	c.now = func() time.Time { return start }
	return c, client, &start
}

func TestClaims(t *testing.T) {
	c, client, _ := newTestClaims(t, slice(t, claimV1Beta1))
	claim := Claim{"ml", "c1"}
	device := func(name string) ClaimedDevice { return ClaimedDevice{"gpu.nvidia.com", "n1", name} }
	assert.True(t, c.Holds(claim, device("gpu-0"), nil), "not known yet")
	require.True(t, c.Wants(claim))
	c.Get(t.Context(), claim)
	require.NoError(t, c.Err())
	assert.False(t, c.Wants(claim), "for good")
	assert.False(t, c.Holds(claim, device("gpu-0"), nil))
	assert.True(t, c.Holds(claim, device("gpu-1"), nil))
	assert.True(t, c.Holds(claim, device("gpu-2"), nil), "also to use it")
	assert.True(t, c.Holds(claim, device("gpu-3"), nil), "also to use it")
	assert.True(t, c.Holds(claim, ClaimedDevice{"gpu.nvidia.com", "n2", "gpu-0"}, nil))
	assert.True(t, c.Holds(Claim{"other", "c1"}, device("gpu-0"), nil))

	assert.True(t, c.Holds(claim, device("gpu-1"), []string{"other", "use"}))
	assert.False(t, c.Holds(claim, device("gpu-1"), []string{"look"}), "of another request")
	assert.False(t, c.Holds(claim, device("gpu-3"), []string{"look"}), "another container uses it")
	assert.True(t, c.Holds(claim, device("gpu-4"), []string{"any"}), "the first of several that would do")
	assert.False(t, c.Holds(claim, device("gpu-4"), []string{"use"}))

	c.Get(t.Context(), Claim{"ml", "gone"})
	require.NoError(t, c.Err())
	assert.False(t, c.Wants(Claim{"ml", "gone"}))

	c.Keep(func(claim Claim) bool { return claim.Name == "gone" })
	assert.True(t, c.Wants(claim))
	assert.False(t, c.Wants(Claim{"ml", "gone"}))
	assert.Len(t, client.Actions(), 2)
}

// No request is made for a minute after the API server refused one.
func TestClaimsRefused(t *testing.T) {
	c, client, now := newTestClaims(t, slice(t, claimV1Beta1))
	resource := schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}
	refuse := apierrors.NewForbidden(resource, "c1", errors.New("no"))
	client.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return refuse != nil, nil, refuse
	})
	claim := Claim{"ml", "c1"}
	c.Get(t.Context(), claim)
	require.ErrorContains(t, c.Err(), "kube: get resourceclaims.resource.k8s.io ml/c1")
	require.ErrorContains(t, c.Err(), "grant get on resourceclaims.resource.k8s.io")
	assert.False(t, c.Wants(claim))
	assert.False(t, c.Wants(Claim{"ml", "another"}))
	c.Keep(func(Claim) bool { return true })
	require.Error(t, c.Err())
	c.Keep(func(Claim) bool { return false })
	require.NoError(t, c.Err(), "the claim is gone")
	*now = now.Add(retryClaims)
	require.True(t, c.Wants(claim))
	refuse = nil
	c.Get(t.Context(), claim)
	require.NoError(t, c.Err())
	assert.False(t, c.Holds(claim, ClaimedDevice{"gpu.nvidia.com", "n1", "gpu-0"}, nil))
}

func TestClaimsNotServed(t *testing.T) {
	c, _, _ := newTestClaims(t)
	c.resolve = func(context.Context, schema.GroupResource) (*meta.RESTMapping, error) { return nil, assert.AnError }
	c.Get(t.Context(), Claim{"ml", "c1"})
	require.ErrorIs(t, c.Err(), assert.AnError)
	require.ErrorContains(t, c.Err(), "resourceclaims.resource.k8s.io")
}

// A claim of any form can be read.
func TestClaimOfAnyShape(t *testing.T) {
	for _, status := range []any{
		nil, "text",
		map[string]any{"allocation": "text"},
		map[string]any{"allocation": map[string]any{"devices": map[string]any{"results": "text"}}},
		map[string]any{"allocation": map[string]any{"devices": map[string]any{"results": []any{"text", nil, map[string]any{"driver": true, "request": int64(1), "adminAccess": "true"}}}}},
	} {
		for _, g := range givenDevices(&unstructured.Unstructured{Object: map[string]any{"status": status}}) {
			assert.False(t, g.admin)
		}
	}
}
