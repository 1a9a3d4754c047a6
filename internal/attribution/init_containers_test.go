// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/otelgpu/gpureceiver/internal/attribution/deviceid"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// initPod returns a pod whose init container requests GPUs.
func initPod(claimOrResource string, first, then string) *corev1.Pod {
	pod := podOf(train)
	asks := func(name, count string) corev1.Container {
		return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{corev1.ResourceName(claimOrResource): quantity.MustParse(count)},
		}}
	}
	pod.Spec.InitContainers = []corev1.Container{asks(helper.name, first)}
	pod.Spec.Containers = []corev1.Container{asks(train.name, then)}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: helper.name, ContainerID: "containerd://" + helper.id()}}
	return pod
}

// The kubelet does not list the devices of init containers. An init container that uses a GPU which its pod's next container takes over is
// not an intruder.
func TestInitContainerUsesItsGPU(t *testing.T) {
	m := newMachine(t, nil, initPod(resource, "1", "1"), podOf(infer)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	node := nodeOf(device(0), device(1))
	run(node, 10, uuid(0), helper, 1e9, 0.2)
	run(node, 11, uuid(1), infer, 1e9, 0.2)
	m.apply(node)
	assert.Empty(t, node.Problems)
	assert.False(t, use(t, node, helper.joined(), uuid(0)).Allocated.Known())
	assert.Equal(t, gpu.Some(true), use(t, node, train.joined(), uuid(0)).Allocated)
	assert.Equal(t, gpu.Some(false), use(t, node, infer.joined(), uuid(1)).Allocated, "this one is")
	assert.True(t, node.Devices[1].HoldersKnown)

	m.apply(node, 10)
	assert.False(t, use(t, node, train.joined(), uuid(0)).IdleTime.Known(), "its pod does not let it idle")
	node.Processes, node.Devices[0].Utilization[gpu.TaskGeneral] = node.Processes[1:], gpu.Some(0.0)
	m.apply(node, 10)
	assertTotal(t, 0, use(t, node, train.joined(), uuid(0)).IdleTime)
	m.apply(node, 10)
	assertTotal(t, 10, use(t, node, train.joined(), uuid(0)).IdleTime)
}

// The kubelet keeps devices that only an init container had for as long as the pod exists, and does not list them.
func TestInitContainerKeepsAGPU(t *testing.T) {
	for name, tt := range map[string]struct {
		pod   *corev1.Pod
		known bool
	}{
		"more than the others": {initPod(resource, "2", "1"), false},
		"as many":              {initPod(resource, "1", "1"), true},
		"another vendor's":     {initPod("amd.com/gpu", "2", "1"), true},
		"no GPU":               {initPod("rdma/hca", "2", "1"), true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, nil, tt.pod).start()
			m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
			node := nodeOf(device(0), device(1))
			run(node, 10, uuid(0), train, 1e9, 0.2)
			m.apply(node)
			assert.True(t, node.Devices[0].HoldersKnown)
			assert.Equal(t, gpu.Some(int64(10e9)), use(t, node, train.joined(), uuid(0)).MemoryUsage, "it has the device to itself all the same")
			assert.Equal(t, tt.known, node.Devices[1].HoldersKnown)
			if tt.known {
				assert.Empty(t, node.Problems)
				return
			}
			require.Len(t, node.Problems, 1)
			assert.EqualError(t, node.Problems[0].Err, "attribution: the kubelet reserves 1 GPUs for init containers and does not list them, "+
				"such as the GPUs of pod ml/train-0; GPUs without a known holder may be among them")
		})
	}
	t.Run("of a replica", func(t *testing.T) {
		m := newMachine(t, nil, initPod("nvidia.com/gpu.shared", "2", "1")).start()
		m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, "nvidia.com/gpu.shared", uuid(0)+"::1")))
		node := m.apply(nodeOf(device(0)))
		assert.True(t, node.Devices[0].HoldersKnown, "it is held, whoever else holds it")
		assert.False(t, use(t, node, train.joined(), uuid(0)).MemoryLimit.Known())
	})
}

// initClaimPod returns a pod whose init container has the claim "both", and possibly its next container as well.
func initClaimPod(allocated bool) *corev1.Pod {
	pod, claim := initPod(resource, "0", "0"), "both"
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpus", ResourceClaimName: &claim}}
	requirements := corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpus", Request: "r"}}}
	pod.Spec.InitContainers[0].Resources = requirements
	if allocated {
		pod.Spec.Containers[0].Resources = requirements
	}
	return pod
}

// The devices of an init container's claim are the next container's, or the pod keeps them.
func TestInitContainerHasAClaim(t *testing.T) {
	m := newMachine(t, nil, initClaimPod(true))
	m.claims(resourceClaim("both", false, "gpu-0", "gpu-1"))
	m.start()
	m.kubelet.Set(kubelettest.Pod(train.pod, whole(train)))
	node := nodeOf(device(0), device(1))
	run(node, 10, uuid(0), helper, 1e9, 0.2)
	require.Empty(t, m.apply(node).Problems)
	assert.False(t, use(t, node, helper.joined(), uuid(0)).Allocated.Known())
	assert.Equal(t, gpu.Some(true), use(t, node, train.joined(), uuid(0)).Allocated)
	assert.Equal(t, gpu.SharingExclusive, use(t, node, train.joined(), uuid(0)).Sharing)
	require.Len(t, node.Containers, 3)

	m = newMachine(t, nil, initClaimPod(false))
	m.clients.Dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{sliceResource: "ResourceSliceList"}, resourceSlice(deviceid.DriverNVIDIA),
		resourceClaim("both", false, "gpu-pci")) // the second
	m.serveSlices()
	m.start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource)))
	for range 2 {
		node = nodeOf(device(0), device(1))
		require.Empty(t, m.apply(node, 10).Problems)
		require.Len(t, node.Containers, 1)
		u := use(t, node, helper.joined(), uuid(1))
		assert.Equal(t, gpu.Some(true), u.Allocated)
		assert.Equal(t, gpu.AllocatorDRA, u.Allocator)
		assert.True(t, node.Devices[0].HoldersKnown)
	}
}

// If claims may not be read, an init container with a claim may hold what it uses.
func TestInitContainerHasAClaimUnreadable(t *testing.T) {
	m := newMachine(t, nil, initClaimPod(false))
	m.claims().PrependReactor("get", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden")
	})
	m.start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource)))
	node := nodeOf(device(0))
	run(node, 10, uuid(0), helper, 1e9, 0.2)
	require.Len(t, m.apply(node).Problems, 1)
	require.ErrorContains(t, node.Problems[0].Err, "ml/both: forbidden")
	assert.False(t, use(t, node, helper.joined(), uuid(0)).Allocated.Known())
}
