// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import corev1 "k8s.io/api/core/v1"

// containerClaim is a claim of a pod as one of its containers has it.
type containerClaim struct{ container, claim string }

// claimRequests returns the requests of claims that a pod's containers have, if that is not the whole claim; nil if there are none. For a
// container with a part of a claim, kubelets up to at least 1.37 list the devices of the whole claim.
func claimRequests(pod *corev1.Pod) map[containerClaim][]string {
	var requests map[containerClaim][]string
	add := func(claim containerClaim, request string) {
		if requests == nil {
			requests = make(map[containerClaim][]string)
		}
		requests[claim] = append(requests[claim], request)
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for _, claim := range containers[i].Resources.Claims {
				if claim.Request != "" {
					add(containerClaim{containers[i].Name, claimName(pod, claim.Name)}, claim.Request)
				}
			}
		}
	}
	// A driver may give containers what they request as a device plugin's resource, in one claim of the pod.
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		for _, mapping := range extended.RequestMappings {
			add(containerClaim{mapping.ContainerName, extended.ResourceClaimName}, mapping.RequestName)
		}
	}
	return requests
}

// claimName returns the name of the ResourceClaim that has a local name in a pod; empty if it is not known yet.
func claimName(pod *corev1.Pod, local string) string {
	for i := range pod.Spec.ResourceClaims {
		if claim := &pod.Spec.ResourceClaims[i]; claim.Name == local && claim.ResourceClaimName != nil {
			return *claim.ResourceClaimName
		}
	}
	for i := range pod.Status.ResourceClaimStatuses { // made from a template
		if claim := &pod.Status.ResourceClaimStatuses[i]; claim.Name == local && claim.ResourceClaimName != nil {
			return *claim.ResourceClaimName
		}
	}
	return ""
}
