// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/otelgpu/gpureceiver/internal/attribution/deviceid"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// inParts returns a pod with two containers that have different requests of a claim from a template.
func inParts() *corev1.Pod {
	pod, claim := podOf(train, helper), "both"
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpus", ResourceClaimTemplateName: new(string)}}
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpus", ResourceClaimName: &claim}}
	for request, c := range map[string]testContainer{"request-0": train, "request-1": helper} {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: c.name, Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpus", Request: request}}},
		})
	}
	return pod
}

// extended returns a pod whose containers request a GPU as a device plugin's resource and get it from a driver.
func extended() *corev1.Pod {
	pod := podOf(train, helper)
	pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{
		ResourceClaimName: "both",
		RequestMappings: []corev1.ContainerExtendedResourceRequest{
			{ContainerName: train.name, ResourceName: resource, RequestName: "request-0"},
			{ContainerName: helper.name, ResourceName: resource, RequestName: "request-1"},
		},
	}
	return pod
}

// whole returns a container with all devices of the claim, as the kubelet lists it.
func whole(c testContainer) *podresourcesv1.ContainerResources {
	container := kubelettest.Claimed(c.name, "both", deviceid.DriverNVIDIA, "gpu-0", "nvidia.com/gpu="+uuid(0))
	resource := container.DynamicResources[0]
	resource.ClaimResources = append(resource.ClaimResources,
		kubelettest.Claimed(c.name, "both", deviceid.DriverNVIDIA, "gpu-1", "nvidia.com/gpu="+uuid(1)).DynamicResources[0].ClaimResources...)
	return container
}

// The kubelet lists all devices of a claim for each container that has the claim. A container holds only the devices of its own requests.
func TestClaimInParts(t *testing.T) {
	for name, pod := range map[string]*corev1.Pod{"by request": inParts(), "extended resource": extended()} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, nil, pod)
			claim := resourceClaim("both", false, "gpu-0", "gpu-1")
			results := claim.Object["status"].(map[string]any)["allocation"].(map[string]any)["devices"].(map[string]any)["results"].([]any)
			results[0].(map[string]any)["request"], results[1].(map[string]any)["request"] = "request-0", "request-1/large"
			client := m.claims(claim)
			refuse := true
			client.PrependReactor("get", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
				return refuse, nil, errors.New("forbidden")
			})
			m.start()
			m.kubelet.Set(kubelettest.Pod(train.pod, whole(train), whole(helper)))
			node := m.apply(nodeOf(device(0), device(1)), 10)
			require.Len(t, node.Problems, 1)
			require.ErrorContains(t, node.Problems[0].Err, " each container that uses it counts as a holder of all its devices")
			require.Len(t, node.Containers, 4)

			m.stop()
			refuse = false
			m.start()
			for range 2 {
				node = m.apply(nodeOf(device(0), device(1)), 10)
				require.Empty(t, node.Problems)
				require.Len(t, node.Containers, 2)
				for id, c := range map[string]testContainer{uuid(0): train, uuid(1): helper} {
					u := use(t, node, c.joined(), id)
					assert.Equal(t, gpu.SharingExclusive, u.Sharing)
					inDelta(t, 0.8, general(u))
				}
			}
		})
	}
}
