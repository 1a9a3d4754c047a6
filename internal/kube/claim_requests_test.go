// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestRequests(t *testing.T) {
	ready, generated := "ready", "pod-made-x7k2p"
	claims := func(resource ...corev1.ResourceClaim) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Claims: resource}
	}
	pod := &corev1.Pod{
		Spec: corev1.PodSpec{
			ResourceClaims: []corev1.PodResourceClaim{
				{Name: "a", ResourceClaimName: &ready}, {Name: "b", ResourceClaimTemplateName: new(string)},
			},
			InitContainers: []corev1.Container{{Name: "init", Resources: claims(corev1.ResourceClaim{Name: "b", Request: "z"})}},
			Containers: []corev1.Container{
				{Name: "two", Resources: claims(corev1.ResourceClaim{Name: "a", Request: "x"}, corev1.ResourceClaim{Name: "a", Request: "y"})},
				{Name: "whole", Resources: claims(corev1.ResourceClaim{Name: "a"}, corev1.ResourceClaim{Name: "b", Request: "x"})},
			},
		},
		Status: corev1.PodStatus{
			ResourceClaimStatuses: []corev1.PodResourceClaimStatus{{Name: "a"}, {Name: "b", ResourceClaimName: &generated}},
			ExtendedResourceClaimStatus: &corev1.PodExtendedResourceClaimStatus{
				ResourceClaimName: "extended",
				RequestMappings: []corev1.ContainerExtendedResourceRequest{
					{ContainerName: "two", ResourceName: "nvidia.com/gpu", RequestName: "container-0-request-0"},
				},
			},
		},
	}
	stored := &storePod(pod, &PodsOptions{}).pod
	assert.Equal(t, []string{"z"}, stored.Requests("init", generated))
	assert.Equal(t, []string{"x", "y"}, stored.Requests("two", ready))
	assert.Equal(t, []string{"container-0-request-0"}, stored.Requests("two", "extended"))
	assert.Empty(t, stored.Requests("whole", ready))
	assert.Equal(t, []string{"x"}, stored.Requests("whole", generated))
	assert.Empty(t, stored.Requests("whole", "extended"))

	assert.Nil(t, claimRequests(&corev1.Pod{}), "as most pods have none")
	assert.Equal(t, &InitDevices{Containers: []string{"init"}, Claims: []InitClaim{{"init", generated}}}, stored.Init)
}

// What an init container requests as a device plugin's resource and gets from a driver is in the pod's claim.
func TestInitDevicesOfDriver(t *testing.T) {
	asks := corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")}}
	pod := &corev1.Pod{
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "init", Resources: asks}}, Containers: []corev1.Container{{Name: "main"}},
		},
		Status: corev1.PodStatus{ExtendedResourceClaimStatus: &corev1.PodExtendedResourceClaimStatus{
			ResourceClaimName: "extended",
			RequestMappings: []corev1.ContainerExtendedResourceRequest{
				{ContainerName: "init", ResourceName: "nvidia.com/gpu", RequestName: "init-container-0-request-0"},
			},
		}},
	}
	assert.Equal(t, &InitDevices{Containers: []string{"init"}, Claims: []InitClaim{{"init", "extended"}}}, initDevices(pod))
	pod.Status.ExtendedResourceClaimStatus = nil
	assert.Equal(t, &InitDevices{Containers: []string{"init"}, Kept: map[string]int64{"nvidia.com/gpu": 2}}, initDevices(pod))
}
