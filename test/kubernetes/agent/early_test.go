// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// early: the kubelet does not report the devices of an init container. The API shows that it holds some: no holder is reported for GPUs
// that may be its own, nor that it uses a GPU without an allocation.
func (w *world) early(t *testing.T) {
	podSpec := spec(idle("main"))
	podSpec.InitContainers = []corev1.Container{box("init", wholeResource, 1)}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "early"}, Spec: podSpec}
	_, err := w.client.CoreV1().Pods(w.namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	device := devices(t, "early", "init")[0]
	w.place(t, "early", "init", device, 3*gib, 10)
	points := w.next(t, func(points harness.Points) bool {
		return len(points.Select("container.gpu.memory.usage", "k8s.container.name", "init")) > 0
	})
	assert.Empty(t, w.kubelet.holds(t), "once the kubelet reports it, the inference is no longer needed")
	assert.Empty(t, points.Select("container.gpu.allocated"))
	assert.Empty(t, points.Select("hw.gpu.allocated"))
	w.remove(t, "early")
	w.expect(t)
}

// claimOfEarly: the kubelet does not report the claim of an init container either. The API shows which device it is.
func (w *world) claimOfEarly(t *testing.T) {
	w.claim(t, "early", gpu(nodeGPU))
	podSpec := withClaim("early", idle("main"))
	podSpec.InitContainers = []corev1.Container{idle("init")}
	podSpec.InitContainers[0].Resources.Claims, podSpec.Containers[0].Resources.Claims = podSpec.Containers[0].Resources.Claims, nil
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "early"}, Spec: podSpec}
	_, err := w.client.CoreV1().Pods(w.namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	w.want["early/init"] = claimed(gpu(nodeGPU))
	w.place(t, "early", "init", gpu(nodeGPU), 3*gib, 10)
	w.await(t)
	for _, line := range w.kubelet.holds(t) {
		assert.NotContains(t, line, " early ", "once the kubelet reports it, the API query is no longer needed")
	}
	w.remove(t, "early", "init")
	w.expect(t)
	require.NoError(t, w.client.ResourceV1().ResourceClaims(w.namespace).Delete(t.Context(), "early", metav1.DeleteOptions{}))
}
