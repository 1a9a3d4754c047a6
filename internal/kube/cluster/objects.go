// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/lifecycle"
)

// storedPod is what is kept of a pod: only its name if it requests no GPU or has ended.
type storedPod struct {
	metav1.ObjectMeta
	node       string
	owners     []metav1.OwnerReference
	containers []request // of the containers that run together: all but init containers that end
	total      []amount  // what the scheduler counts for the pod
	missing    []amount  // the part of the total that the scheduler misses on some node
	placement  *placement
	claims     []kube.PodClaim // that may be for GPUs
	ended      bool
	life       *lifecycle.Pod // nil if it requests nothing that may be a GPU, or pods are not followed
}

type request struct {
	container string
	amount
}

// storedNode is what is kept of a node: only its name if it does not have the resources.
type storedNode struct {
	metav1.ObjectMeta
	capacity, allocatable []amount
	site                  site
}

// requestIndex has the pods that request GPUs, which are a few among all.
const requestIndex = "request"

func indexRequests(object any) ([]string, error) {
	if pod, ok := object.(*storedPod); ok && !pod.ended && len(pod.total)+len(pod.claims) > 0 {
		return []string{""}, nil
	}
	return nil, nil
}

func nameOf(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion}
}

// storePod is the transform of the informer of pods.
func (s *store) storePod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	stored := s.names.requests(pod)
	if len(s.classes) > 0 {
		stored.claims = kube.ClaimsOf(pod)
	}
	requests := len(stored.total)+len(stored.claims) > 0
	if s.follow && requests {
		stored.life = s.lifeOf(pod, stored)
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		ended := &storedPod{ObjectMeta: stored.ObjectMeta, claims: stored.claims, ended: true, life: stored.life}
		if stored.life != nil {
			ended.owners = stored.owners
		}
		return ended, nil
	}
	if !requests {
		stored.owners = nil
	}
	return stored, nil
}

// requests returns what a pod requests.
func (names resourceNames) requests(pod *corev1.Pod) *storedPod {
	stored := &storedPod{ObjectMeta: nameOf(&pod.ObjectMeta)}
	stored.node = pod.Spec.NodeName
	stored.owners = kube.OwnerReferences(pod.OwnerReferences)
	var sidecars, most []amount
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		requested := names.requested(c)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			stored.add(c.Name, requested)
			sidecars = sum(sidecars, requested)
			most = largest(most, sidecars)
		} else {
			most = largest(most, sum(requested, sidecars))
		}
	}
	running := slices.Clone(sidecars)
	for i := range pod.Spec.Containers {
		requested := names.requested(&pod.Spec.Containers[i])
		stored.add(pod.Spec.Containers[i].Name, requested)
		running = sum(running, requested)
	}
	stored.total = largest(most, running)
	if pod.Status.Phase == corev1.PodPending && pod.Spec.NodeName == "" {
		if stored.missing = missing(&pod.Status, stored.total); stored.missing != nil {
			stored.placement = placementOf(&pod.Spec)
		}
	}
	return stored
}

func (p *storedPod) add(container string, requested []amount) {
	for _, a := range requested {
		p.containers = append(p.containers, request{container: container, amount: a})
	}
}

// missing returns which of the requested resources the scheduler misses on some node, according to its message. It also misses a GPU on
// a node that never had one; waits decides which nodes matter.
func missing(status *corev1.PodStatus, requested []amount) []amount {
	var all []amount
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse || c.Reason != corev1.PodReasonUnschedulable {
			continue
		}
		for _, a := range requested {
			if insufficient(c.Message, a.resource) {
				all = append(all, a)
			}
		}
	}
	return all
}

// insufficient reports whether "Insufficient <resource>" is in a message such as
//
//	0/5 nodes are available: 2 Insufficient cpu, 3 Insufficient nvidia.com/gpu. preemption: 0/5 nodes are available: …
//
// The name of another resource may start with this one.
func insufficient(message, resource string) bool {
	const word = "Insufficient "
	for {
		i := strings.Index(message, word)
		if i < 0 {
			return false
		}
		message = message[i+len(word):]
		rest, ok := strings.CutPrefix(message, resource)
		if !ok {
			continue
		}
		rest = strings.TrimPrefix(rest, ".")
		if rest == "" || rest[0] == ',' || rest[0] == ' ' {
			return true
		}
	}
}

// storeNode is the transform of the informer of nodes.
func (s *store) storeNode(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	stored := &storedNode{
		ObjectMeta:  nameOf(&node.ObjectMeta),
		capacity:    s.names.amounts(node.Status.Capacity),
		allocatable: s.names.amounts(node.Status.Allocatable),
	}
	if len(stored.capacity)+len(stored.allocatable) > 0 {
		stored.site = site{name: node.Name, labels: node.Labels, taints: repellingTaints(&node.Spec)}
	}
	return stored, nil
}
