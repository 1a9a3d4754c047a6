// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// InitDevices is what a pod's init containers request that end before its other containers start. A kubelet allocates devices to them
// and does not list it (PodResources lists all containers but these).
type InitDevices struct {
	Containers []string    // those that request devices of a plugin or have a claim
	Claims     []InitClaim // that they have
	// Kept are the devices, by resource, that the pod has for them alone; other containers take over the rest. The kubelet keeps
	// them for as long as the pod exists.
	Kept map[string]int64
}

// InitClaim is a claim that an init container has.
type InitClaim struct{ Container, Claim string }

// initDevices returns nil if the pod has no such init containers.
func initDevices(pod *corev1.Pod) *InitDevices {
	spec := &pod.Spec
	devices := &InitDevices{Claims: initClaims(pod)}
	most, running := make(map[string]int64), make(map[string]int64)
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if isSidecar(c) {
			eachDevice(c, func(resource string, count int64) { running[resource] += count })
			continue
		}
		usesDevices := slices.ContainsFunc(devices.Claims, func(claim InitClaim) bool { return claim.Container == c.Name })
		eachDevice(c, func(resource string, count int64) {
			if isDynamic(pod, resource) {
				return
			}
			usesDevices = true
			most[resource] = max(most[resource], running[resource]+count)
		})
		if usesDevices {
			devices.Containers = append(devices.Containers, c.Name)
		}
	}
	if len(devices.Containers) == 0 {
		return nil
	}
	for i := range spec.Containers {
		eachDevice(&spec.Containers[i], func(resource string, count int64) { running[resource] += count })
	}
	for resource, count := range most {
		if reserved := count - running[resource]; reserved > 0 {
			if devices.Kept == nil {
				devices.Kept = make(map[string]int64)
			}
			devices.Kept[resource] = reserved
		}
	}
	return devices
}

// isSidecar reports whether an init container runs beside the other containers.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// initClaims returns the claims of the init containers that end before the other containers start.
func initClaims(pod *corev1.Pod) []InitClaim {
	var all []InitClaim
	add := func(claim InitClaim) {
		if claim.Claim != "" && !slices.Contains(all, claim) {
			all = append(all, claim)
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if isSidecar(c) {
			continue
		}
		for _, claim := range c.Resources.Claims {
			add(InitClaim{c.Name, claimName(pod, claim.Name)})
		}
		if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
			for _, mapping := range extended.RequestMappings {
				if mapping.ContainerName == c.Name {
					add(InitClaim{c.Name, extended.ResourceClaimName})
				}
			}
		}
	}
	return all
}

// isDynamic reports whether a driver gives the pod an extended resource, in a claim.
func isDynamic(pod *corev1.Pod, resource string) bool {
	extended := pod.Status.ExtendedResourceClaimStatus
	return extended != nil && slices.ContainsFunc(extended.RequestMappings, func(m corev1.ContainerExtendedResourceRequest) bool {
		return m.ResourceName == resource
	})
}

// eachDevice calls do for the extended resources that a container requests. Their limits equal their requests.
func eachDevice(c *corev1.Container, do func(resource string, count int64)) {
	for resource, quantity := range c.Resources.Limits {
		if count := quantity.Value(); count > 0 && strings.Contains(string(resource), "/") {
			do(string(resource), count)
		}
	}
}
