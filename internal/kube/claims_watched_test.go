// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const wholeClaim = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {namespace: ml, name: c}
spec:
  devices:
    requests:
    - name: two
      exactly: {deviceClassName: gpu.nvidia.com, allocationMode: ExactCount, count: 2}
    - name: every
      exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All}
    - name: either
      firstAvailable:
      - {name: nic, deviceClassName: nic.example.com, allocationMode: ExactCount, count: 1}
      - {name: large, deviceClassName: gpu.amd.com, allocationMode: ExactCount, count: 1}
      - {name: small, deviceClassName: mig.nvidia.com, allocationMode: ExactCount, count: 4}
    - name: watcher
      exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All, adminAccess: true}
    - name: nic
      exactly: {deviceClassName: nic.example.com, allocationMode: ExactCount, count: 1}
`

const wholeClaimStatus = `
status:
  reservedFor: [{resource: pods, name: a, uid: a}, {resource: pods, name: b, uid: b}]
  allocation:
    devices:
      results:
      - {request: two, driver: gpu.nvidia.com, pool: n1, device: gpu-0}
      - {request: two, driver: gpu.nvidia.com, pool: n1, device: gpu-1}
      - {request: every, driver: gpu.nvidia.com, pool: n1, device: gpu-2}
      - {request: either/small, driver: gpu.nvidia.com, pool: n1, device: mig-0}
      - {request: either/small, driver: gpu.nvidia.com, pool: n1, device: mig-1}
      - {request: watcher, driver: gpu.nvidia.com, pool: n1, device: gpu-0, adminAccess: true}
      - {request: nic, driver: nic.example.com, pool: n1, device: nic-0}
`

const flatClaim = `
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
metadata: {namespace: ml, name: c}
spec:
  devices:
    requests:
    - {name: one, deviceClassName: gpu.nvidia.com, allocationMode: ExactCount, count: 1}
    - {name: watcher, deviceClassName: gpu.nvidia.com, allocationMode: All, adminAccess: true}
`

func wantsGPU(class string) bool {
	return strings.HasPrefix(class, "gpu.") || strings.HasPrefix(class, "mig.")
}

func TestRequestedClaim(t *testing.T) {
	for name, c := range map[string]struct {
		document  string
		allocated bool
		users     int
		want      []DeviceRequest
	}{
		"requested": {wholeClaim, false, 0, []DeviceRequest{
			{"two", "gpu.nvidia.com", gpu.Some[int64](2)}, {Name: "every", Class: "gpu.nvidia.com"}, {Name: "either", Class: "gpu.amd.com"},
		}},
		"allocated": {wholeClaim + wholeClaimStatus, true, 2, []DeviceRequest{
			{"two", "gpu.nvidia.com", gpu.Some[int64](2)}, {"every", "gpu.nvidia.com", gpu.Some[int64](1)}, {"either", "mig.nvidia.com", gpu.Some[int64](2)},
		}},
		"v1beta1": {flatClaim, false, 0, []DeviceRequest{{"one", "gpu.nvidia.com", gpu.Some[int64](1)}}},
		"the other alternative": {strings.ReplaceAll(wholeClaim+wholeClaimStatus, "either/small", "either/nic"), true, 2, []DeviceRequest{
			{"two", "gpu.nvidia.com", gpu.Some[int64](2)}, {"every", "gpu.nvidia.com", gpu.Some[int64](1)},
		}},
	} {
		claim := requestedClaim(slice(t, c.document), wantsGPU)
		assert.Equal(t, c.want, claim.Requests, name)
		assert.Equal(t, c.allocated, claim.Allocated, name)
		assert.Equal(t, c.users, claim.Users, name)
	}
}

func TestWatchedClaims(t *testing.T) {
	for version, document := range map[string]string{"v1": wholeClaim, "v1beta1": flatClaim} {
		gvr := schema.GroupVersionResource{Group: resourceAPI, Version: version, Resource: "resourceclaims"}
		client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{gvr: "ResourceClaimList"}, slice(t, document))
		var mu sync.Mutex
		changes := 0
		c := WatchClaims(&Clients{Kubernetes: fake.NewClientset(), Dynamic: client}, wantsGPU, func(claim Claim) {
			mu.Lock()
			defer mu.Unlock()
			assert.Equal(t, Claim{"ml", "c"}, claim)
			changes++
		})
		c.resolve = func(_ context.Context, resource schema.GroupResource) (*meta.RESTMapping, error) {
			return mapped(resource, version, "ResourceClaim", true), nil
		}
		assert.Nil(t, c.Get(Claim{"ml", "c"}))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		require.Eventually(t, c.Synced, time.Minute, 5*time.Millisecond)
		require.NotNil(t, c.Get(Claim{"ml", "c"}), version)
		assert.False(t, c.Get(Claim{"ml", "c"}).Allocated)
		assert.Nil(t, c.Get(Claim{"ml", "other"}))
		_, err := client.Resource(gvr).Namespace("ml").Update(t.Context(), slice(t, document+wholeClaimStatus), metav1.UpdateOptions{})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return changes == 2
		}, time.Minute, 5*time.Millisecond)
		assert.True(t, c.Get(Claim{"ml", "c"}).Allocated)
		require.NoError(t, c.Err())
		cancel()
		running.Wait()
	}
}

func TestClaimsOfAPod(t *testing.T) {
	always, name := corev1.ContainerRestartPolicyAlways, "train-c-x1"
	withClaims := func(container string, claims ...corev1.ResourceClaim) corev1.Container {
		return corev1.Container{Name: container, Resources: corev1.ResourceRequirements{Claims: claims}}
	}
	sidecar := withClaims("sidecar", corev1.ResourceClaim{Name: "gpus", Request: "one"})
	sidecar.RestartPolicy = &always
	pod := &corev1.Pod{
		Spec: corev1.PodSpec{
			ResourceClaims: []corev1.PodResourceClaim{{Name: "gpus"}, {Name: "later"}},
			InitContainers: []corev1.Container{withClaims("first", corev1.ResourceClaim{Name: "gpus"}), sidecar},
			Containers:     []corev1.Container{withClaims("main", corev1.ResourceClaim{Name: "gpus"}), withClaims("none")},
		},
		Status: corev1.PodStatus{ResourceClaimStatuses: []corev1.PodResourceClaimStatus{{Name: "gpus", ResourceClaimName: &name}}},
	}
	assert.Equal(t, []PodClaim{
		{Name: name, Uses: []ClaimUse{{Container: "sidecar", Request: "one"}, {Container: "main"}}}, {},
	}, ClaimsOf(pod))
	for range 100 {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, pod.Spec.ResourceClaims[0])
		pod.Spec.Containers = append(pod.Spec.Containers, pod.Spec.Containers[0])
	}
	assert.Len(t, ClaimsOf(pod), maxPodClaims)
	assert.Len(t, ClaimsOf(pod)[0].Uses, maxPodClaims)
}
