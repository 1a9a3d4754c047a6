// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes/fake"
)

func TestInitDevices(t *testing.T) {
	const gpu, other = "nvidia.com/gpu", "rdma/hca"
	always := corev1.ContainerRestartPolicyAlways
	box := func(name, requests, count string) corev1.Container {
		return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
			corev1.ResourceName(requests): resource.MustParse(count), "cpu": resource.MustParse("8"),
		}}}
	}
	sidecar := func(name, requests, count string) corev1.Container {
		c := box(name, requests, count)
		c.RestartPolicy = &always
		return c
	}
	for _, tt := range []struct {
		name       string
		init, main []corev1.Container
		want       *InitDevices
	}{
		{"none", []corev1.Container{box("i", "memory", "1Gi"), box("j", gpu, "0")}, []corev1.Container{box("m", gpu, "4")}, nil},
		{"a sidecar", []corev1.Container{sidecar("s", gpu, "2")}, []corev1.Container{box("m", gpu, "1")}, nil},
		{"taken over", []corev1.Container{box("i", gpu, "2")}, []corev1.Container{box("m", gpu, "1"), box("n", gpu, "1")}, &InitDevices{Containers: []string{"i"}}},
		{"its own", []corev1.Container{box("i", gpu, "1")}, []corev1.Container{box("m", "memory", "1Gi")}, &InitDevices{
			Containers: []string{"i"}, Kept: map[string]int64{gpu: 1},
		}},
		{"more", []corev1.Container{box("i", gpu, "3"), box("j", gpu, "4"), box("k", other, "1")}, []corev1.Container{box("m", gpu, "1")}, &InitDevices{
			Containers: []string{"i", "j", "k"}, Kept: map[string]int64{gpu: 3, other: 1},
		}},
		{"beside a sidecar", []corev1.Container{sidecar("s", gpu, "1"), box("i", gpu, "2")}, []corev1.Container{box("m", gpu, "1")}, &InitDevices{
			Containers: []string{"i"}, Kept: map[string]int64{gpu: 1},
		}},
		{"before a sidecar", []corev1.Container{box("i", gpu, "2"), sidecar("s", gpu, "1")}, []corev1.Container{box("m", gpu, "1")}, &InitDevices{
			Containers: []string{"i"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := podObject("p", "u")
			pod.Spec.InitContainers, pod.Spec.Containers = tt.init, tt.main
			pods := startPods(t, fake.NewClientset(pod), PodsOptions{Node: "n1"})
			eventually(t, pods.Synced)
			assert.Equal(t, tt.want, pods.ByUID("u").Init)
			assert.Len(t, pods.WithInitDevices(), map[bool]int{true: 1}[tt.want != nil])
		})
	}
	pod := podObject("p", "u")
	pod.Spec.InitContainers, pod.Status.Phase = []corev1.Container{box("i", gpu, "2")}, corev1.PodSucceeded
	pods := startPods(t, fake.NewClientset(pod), PodsOptions{Node: "n1"})
	eventually(t, pods.Synced)
	assert.Empty(t, pods.WithInitDevices(), "one that has ended has nothing")
}
