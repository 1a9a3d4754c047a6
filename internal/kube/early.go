// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Early is what init containers ask for that end before the others begin. A kubelet allocates devices to them, and does not tell
// it (PodResources lists all containers but these).
type Early struct {
	Containers []string // those that ask for devices of a plugin
	// Kept are the devices, by resource, that the pod has for them alone: the others' are taken from theirs. The kubelet keeps
	// them for as long as there is the pod.
	Kept map[string]int64
}

func earlyOf(spec *corev1.PodSpec) *Early {
	var early *Early
	most, sidecars := make(map[string]int64), make(map[string]int64)
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			eachDevice(c, func(resource string, count int64) { sidecars[resource] += count })
			continue
		}
		asks := false
		eachDevice(c, func(resource string, count int64) {
			asks = true
			most[resource] = max(most[resource], sidecars[resource]+count)
		})
		if asks {
			if early == nil {
				early = &Early{}
			}
			early.Containers = append(early.Containers, c.Name)
		}
	}
	if early == nil {
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

// eachDevice goes through the extended resources that a container asks for, of which it may have no more than it requests.
func eachDevice(c *corev1.Container, do func(resource string, count int64)) {
	for resource, quantity := range c.Resources.Limits {
		if count := quantity.Value(); count > 0 && strings.Contains(string(resource), "/") {
			do(string(resource), count)
		}
	}
}
