// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import corev1 "k8s.io/api/core/v1"

// part is a claim of a pod, as one of its containers is given it.
type part struct{ container, claim string }

// partsOf returns the requests of claims that containers are given, where that is not the whole claim. Of every container that
// has a claim the kubelet tells the whole, up to 1.37 at least.
func partsOf(pod *corev1.Pod) map[part][]string {
	var parts map[part][]string
	add := func(of part, request string) {
		if parts == nil {
			parts = make(map[part][]string)
		}
		parts[of] = append(parts[of], request)
	}
	if len(pod.Spec.ResourceClaims) > 0 {
		for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range containers {
				for _, of := range containers[i].Resources.Claims {
					if of.Request != "" {
						add(part{containers[i].Name, claimName(pod, of.Name)}, of.Request)
					}
				}
			}
		}
	}
	// What containers ask for as of a device plugin may be given by a driver, in one claim of the pod.
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		for _, of := range extended.RequestMappings {
			add(part{of.ContainerName, extended.ResourceClaimName}, of.RequestName)
		}
	}
	return parts
}

// claimName is the name of the ResourceClaim that a pod calls by a name of its own.
func claimName(pod *corev1.Pod, own string) string {
	for i := range pod.Spec.ResourceClaims {
		if of := &pod.Spec.ResourceClaims[i]; of.Name == own && of.ResourceClaimName != nil {
			return *of.ResourceClaimName
		}
	}
	for i := range pod.Status.ResourceClaimStatuses { // it was made from a template
		if of := &pod.Status.ResourceClaimStatuses[i]; of.Name == own && of.ResourceClaimName != nil {
			return *of.ResourceClaimName
		}
	}
	return ""
}

// Requests returns the requests of a claim that a container is given; none where it is given the whole claim.
func (p *Pod) Requests(container, claim string) []string { return p.parts[part{container, claim}] }
