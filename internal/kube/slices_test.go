// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"
)

// The same device in the three versions of the API.
const sliceV1 = `
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s1}
spec:
  driver: gpu.nvidia.com
  nodeName: n1
  pool: {name: n1, generation: 2, resourceSliceCount: 1}
  devices:
  - name: gpu-0
    attributes:
      uuid: {string: GPU-1}
      gpu.nvidia.com/type: {string: gpu}
      minor: {int: 0}
      driverVersion: {version: 580.1.0}
      flag: {bool: true}
`

const sliceV1Beta1 = `
apiVersion: resource.k8s.io/v1beta1
kind: ResourceSlice
metadata: {name: s1}
spec:
  driver: gpu.nvidia.com
  nodeName: n1
  pool: {name: n1, generation: 2, resourceSliceCount: 1}
  devices:
  - name: gpu-0
    basic:
      attributes:
        uuid: {string: GPU-1}
        type: {string: gpu}
        minor: {int: 0}
`

func slice(t *testing.T, document string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(document))
	require.NoError(t, err)
	object := &unstructured.Unstructured{}
	require.NoError(t, object.UnmarshalJSON(data))
	return object
}

func startSlices(t *testing.T, version string, objects ...runtime.Object) *Slices {
	t.Helper()
	gvr := schema.GroupVersionResource{Group: "resource.k8s.io", Version: version, Resource: "resourceslices"}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{gvr: "ResourceSliceList"}, objects...)
	s := NewSlices(&Clients{Kubernetes: fake.NewClientset(), Dynamic: client}, "n1")
	s.retry = time.Millisecond
	s.resolve = func(_ context.Context, resource schema.GroupResource) (*meta.RESTMapping, error) {
		return mapped(resource, version, "ResourceSlice", false), nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return s
}

func TestSlices(t *testing.T) {
	want := map[string]string{"uuid": "GPU-1", "type": "gpu", "minor": "0"}
	for version, document := range map[string]string{"v1": sliceV1, "v1beta1": sliceV1Beta1} {
		t.Run(version, func(t *testing.T) {
			s := startSlices(t, version, slice(t, document))
			s.Want()
			eventually(t, s.Synced)
			assert.Equal(t, want, s.Device("gpu.nvidia.com", "n1", "gpu-0"))
			assert.Nil(t, s.Device("gpu.nvidia.com", "n1", "gpu-1"))
			assert.Nil(t, s.Device("gpu.nvidia.com", "n2", "gpu-0"), "another pool")
			assert.Nil(t, s.Device("gpu.amd.com", "n1", "gpu-0"), "another driver")
			require.NoError(t, s.Err())
		})
	}
}

// No request is made before a device is looked up.
func TestSlicesNotWanted(t *testing.T) {
	s := startSlices(t, "v1", slice(t, sliceV1))
	assert.Nil(t, s.Device("gpu.nvidia.com", "n1", "gpu-0"))
	assert.False(t, s.Synced())
	s.Want()
	s.Want()
	eventually(t, s.Synced)
}

func TestSlicesGeneration(t *testing.T) {
	old := slice(t, sliceV1)
	old.SetName("s0")
	require.NoError(t, unstructured.SetNestedField(old.Object, int64(1), "spec", "pool", "generation"))
	require.NoError(t, unstructured.SetNestedSlice(old.Object, []any{map[string]any{
		"name": "gpu-0", "attributes": map[string]any{"uuid": map[string]any{"string": "GPU-old"}},
	}}, "spec", "devices"))
	s := startSlices(t, "v1", old, slice(t, sliceV1))
	s.Want()
	eventually(t, s.Synced)
	assert.Equal(t, "GPU-1", s.Device("gpu.nvidia.com", "n1", "gpu-0")["uuid"])
}

func TestSlicesNotServed(t *testing.T) {
	s := NewSlices(newClients(t, nil), "n1")
	s.retry = time.Millisecond
	s.Want()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	eventually(t, func() bool { return s.Err() != nil })
	require.ErrorContains(t, s.Err(), "resourceslices.resource.k8s.io")
	cancel()
	<-done
}

// A slice of any form can be read.
func TestSliceOfAnyShape(t *testing.T) {
	for _, spec := range []any{
		nil, "text",
		map[string]any{"devices": "text"},
		map[string]any{"devices": []any{"text", nil, map[string]any{"name": 3}}},
		map[string]any{"devices": []any{map[string]any{"name": "a", "attributes": map[string]any{
			"x": "text", "y": map[string]any{"string": 3}, "z": map[string]any{"int": "3"},
			"long": map[string]any{"string": string(make([]byte, maxAttribute+1))},
		}}}},
	} {
		stored := storeSlice(&unstructured.Unstructured{Object: map[string]any{"spec": spec}})
		for _, attributes := range stored.devices {
			assert.Empty(t, attributes)
		}
	}
}
