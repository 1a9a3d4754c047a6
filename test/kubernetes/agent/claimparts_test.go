// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// claimInParts: each container is given another request of one claim.
func (w *world) claimInParts(t *testing.T) {
	w.claim(t, "parts", gpu(nodeGPU), gpu(sliceGPU))
	podSpec := withClaim("parts", idle("a"), idle("b"))
	podSpec.Containers[0].Resources.Claims[0].Request = "gpu-0"
	podSpec.Containers[1].Resources.Claims[0].Request = "gpu-1"
	w.runSpec(t, "parts", podSpec)
	w.want["parts/a"], w.want["parts/b"] = claimed(gpu(nodeGPU)), claimed(gpu(sliceGPU))
	w.partly(t, "parts")
	w.remove(t, "overlays", "a", "b")
	require.NoError(t, w.client.ResourceV1().ResourceClaims(w.namespace).Delete(t.Context(), "parts", metav1.DeleteOptions{}))
	w.expect(t)
}

// partly waits for the expected metrics of a pod with two devices, while the kubelet reports that each of its two containers has both.
func (w *world) partly(t *testing.T, pod string) {
	t.Helper()
	w.await(t)
	lines := slices.DeleteFunc(w.kubelet.holds(t), func(line string) bool { return !strings.HasPrefix(line, w.namespace+" "+pod+" ") })
	assert.Len(t, lines, 4, "once the kubelet reports the parts, the API query is no longer needed")
}

// extendedByDriver: containers request GPUs as from a device plugin, and the driver allocates them in one claim of the pod.
func (w *world) extendedByDriver(t *testing.T) {
	name := "nvidia.com/dynamic"
	class := &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "extended"},
		Spec: resourcev1.DeviceClassSpec{
			ExtendedResourceName: &name,
			Selectors:            []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + driverName + `"`}}},
		},
	}
	_, err := w.client.ResourceV1().DeviceClasses().Create(t.Context(), class, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, w.client.ResourceV1().DeviceClasses().Delete(context.Background(), class.Name, metav1.DeleteOptions{}))
	})
	w.run(t, "extended", box("a", name, 1), box("b", name, 1), idle("none"))
	pod, err := w.client.CoreV1().Pods(w.namespace).Get(t.Context(), "extended", metav1.GetOptions{})
	require.NoError(t, err)
	status := pod.Status.ExtendedResourceClaimStatus
	require.NotNil(t, status)
	claim, err := w.client.ResourceV1().ResourceClaims(w.namespace).Get(t.Context(), status.ResourceClaimName, metav1.GetOptions{})
	require.NoError(t, err)
	for _, mapping := range status.RequestMappings {
		for _, result := range claim.Status.Allocation.Devices.Results {
			if result.Request == mapping.RequestName {
				w.want["extended/"+mapping.ContainerName] = claimed(dynamic[result.Device])
			}
		}
	}
	require.Contains(t, w.want, "extended/a")
	require.Contains(t, w.want, "extended/b")
	w.partly(t, "extended")
	w.remove(t, "extended", "a", "b")
	w.expect(t)
}

// looksAfter: a claim with adminAccess to a device holds nothing, beside a regular claim of the same device.
func (w *world) looksAfter(t *testing.T) {
	_, err := w.client.CoreV1().Namespaces().Patch(t.Context(), w.namespace, types.MergePatchType,
		[]byte(`{"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	w.claim(t, "use", gpu(nodeGPU))
	w.runSpec(t, "uses", withClaim("use", idle("main")))
	w.want["uses/main"] = claimed(gpu(nodeGPU))
	w.claimFor(t, true, "look", gpu(nodeGPU), gpu(sliceGPU))
	w.runSpec(t, "looks", withClaim("look", idle("main")))
	w.await(t)
	assert.True(t, slices.ContainsFunc(w.kubelet.holds(t), func(line string) bool {
		return strings.HasPrefix(line, w.namespace+" looks ")
	}), "the kubelet does not report adminAccess")
	for _, name := range []string{"uses", "looks"} {
		w.remove(t, name, "main")
	}
	for _, name := range []string{"use", "look"} {
		require.NoError(t, w.client.ResourceV1().ResourceClaims(w.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	w.expect(t)
}

// sharedByPods: two pods have one claim.
func (w *world) sharedByPods(t *testing.T) {
	w.claim(t, "between", gpu(sliceGPU))
	for _, name := range []string{"left", "right"} {
		w.runSpec(t, name, withClaim("between", idle("main")))
		w.want[name+"/main"] = shared("shared_claim", claimed(gpu(sliceGPU)))
	}
	w.expect(t)
	w.remove(t, "left", "main")
	shared("exclusive", w.want["right/main"])
	w.expect(t)
	w.remove(t, "right", "main")
	w.expect(t)
	require.NoError(t, w.client.ResourceV1().ResourceClaims(w.namespace).Delete(t.Context(), "between", metav1.DeleteOptions{}))
}
