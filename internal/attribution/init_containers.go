// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/attribution/deviceid"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// initContainers are the init containers that end before the other containers of their pod start and that have devices. The kubelet
// does not list their allocations, so it is not said that they hold nothing.
type initContainers map[podContainer]struct{}

func newInitContainers(pods []*kube.Pod) initContainers {
	all := make(initContainers)
	for _, pod := range pods {
		for _, name := range pod.Init.Containers {
			all[podContainer{namespace: pod.Namespace, pod: pod.Name, name: name}] = struct{}{}
		}
	}
	return all
}

func (all initContainers) contains(c *gpu.Container) bool {
	_, ok := all[podContainerOf(c)]
	return ok
}

// hasOf reports whether c is one of them, in the same pod as another container.
func (all initContainers) hasOf(c, other *gpu.Container) bool {
	return c.Namespace == other.Namespace && c.PodName == other.PodName && all.contains(c)
}

// initClaims returns the claims that such init containers have.
func initClaims(pods []*kube.Pod) []kube.Claim {
	var claims []kube.Claim
	for _, pod := range pods {
		for _, initClaim := range pod.Init.Claims {
			claims = append(claims, kube.Claim{Namespace: pod.Namespace, Name: initClaim.Claim})
		}
	}
	return claims
}

// keptForInit is how many GPUs the kubelet keeps for such init containers alone.
type keptForInit struct {
	count int64
	pod   string // one of their pods, the same one in each read
}

func keptDevices(pods []*kube.Pod, vendor gpu.Vendor, gpus gpuNames) keptForInit {
	var initGPUs keptForInit
	for _, pod := range pods {
		for resource, count := range pod.Init.Kept {
			if resourceVendor := deviceid.VendorOf(resource); gpus.isResource(resource) && (resourceVendor == vendor || resourceVendor == "") {
				initGPUs.count += count
				initGPUs.pod = max(initGPUs.pod, pod.Namespace+"/"+pod.Name)
			}
		}
	}
	return initGPUs
}

func (k keptForInit) err() error {
	return fmt.Errorf("attribution: the kubelet reserves %d GPUs for init containers and does not list them, such as the GPUs of pod %s; "+
		"GPUs without a known holder may be among them", k.count, k.pod)
}
