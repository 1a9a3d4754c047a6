// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// InitDevices is what init containers ask for that end before the others begin. A kubelet allocates devices to them, and does not tell
// it (PodResources lists all containers but these).
type InitDevices struct {
	Containers []string    // those that ask for devices of a plugin, or have a claim
	Claims     []InitClaim // that they have
	// Kept are the devices, by resource, that the pod has for them alone: the others' are taken from theirs. The kubelet keeps
	// them for as long as there is the pod.
	Kept map[string]int64
}

// InitClaim is a claim that an init container has.
type InitClaim struct{ Container, Claim string }

func initDevices(pod *corev1.Pod) *InitDevices {
	spec := &pod.Spec
	early := &InitDevices{Claims: initClaims(pod)}
	most, sidecars := make(map[string]int64), make(map[string]int64)
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			eachDevice(c, func(resource string, count int64) { sidecars[resource] += count })
			continue
		}
		asks := slices.ContainsFunc(early.Claims, func(of InitClaim) bool { return of.Container == c.Name })
		eachDevice(c, func(resource string, count int64) {
			if byDriver(pod, resource) {
				return
			}
			asks = true
			most[resource] = max(most[resource], sidecars[resource]+count)
		})
		if asks {
			early.Containers = append(early.Containers, c.Name)
		}
	}
	if len(early.Containers) == 0 {
		return nil
	}
	for i := range spec.Containers {
		eachDevice(&spec.Containers[i], func(resource string, count int64) { sidecars[resource] += count })
	}
	for resource, count := range most {
		if kept := count - sidecars[resource]; kept > 0 {
			if early.Kept == nil {
				early.Kept = make(map[string]int64)
			}
			early.Kept[resource] = kept
		}
	}
	return early
}

// earlyClaims are the claims of the init containers that end before the others begin.
func initClaims(pod *corev1.Pod) []InitClaim {
	var all []InitClaim
	add := func(of InitClaim) {
		if of.Claim != "" && !slices.Contains(all, of) {
			all = append(all, of)
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			continue
		}
		for _, of := range c.Resources.Claims {
			add(InitClaim{c.Name, claimName(pod, of.Name)})
		}
		if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
			for _, of := range extended.RequestMappings {
				if of.ContainerName == c.Name {
					add(InitClaim{c.Name, extended.ResourceClaimName})
				}
			}
		}
	}
	return all
}

// byDriver tells whether an extended resource that a pod's containers ask for is given by a driver, in a claim.
func byDriver(pod *corev1.Pod, resource string) bool {
	of := pod.Status.ExtendedResourceClaimStatus
	return of != nil && slices.ContainsFunc(of.RequestMappings, func(m corev1.ContainerExtendedResourceRequest) bool {
		return m.ResourceName == resource
	})
}

// eachDevice goes through the extended resources that a container asks for, of which it may have no more than it requests.
func eachDevice(c *corev1.Container, do func(resource string, count int64)) {
	for resource, quantity := range c.Resources.Limits {
		if count := quantity.Value(); count > 0 && strings.Contains(string(resource), "/") {
			do(string(resource), count)
		}
	}
}
