// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// storedPod is what is kept of a pod. Of one that requests no GPU, or has ended, that is its name.
type storedPod struct {
	metav1.ObjectMeta
	node       string
	containers []request // of containers that run together: all but init containers that end
	total      []amount  // what the scheduler counts for the pod
	wants      []amount  // those of the total that the scheduler misses on some node
	placement  *placement
}

type request struct {
	container string
	amount
}

type amount struct {
	resource string
	count    int64
}

// storedNode is what is kept of a node. Of one that has none of the resources that is its name.
type storedNode struct {
	metav1.ObjectMeta
	capacity, allocatable []amount
	labels                map[string]string
	taints                []corev1.Taint // that keep pods away
}

// requestIndex finds the pods that request GPUs, which are few among all.
const requestIndex = "request"

func indexRequests(object any) ([]string, error) {
	if pod, ok := object.(*storedPod); ok && len(pod.total) > 0 {
		return []string{""}, nil
	}
	return nil, nil
}

func names(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion}
}

// pod keeps what is needed of a pod.
func (m *matcher) pod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	stored := &storedPod{ObjectMeta: names(&pod.ObjectMeta)}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return stored, nil
	}
	stored.node = pod.Spec.NodeName
	var sidecars, most []amount
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		requested := m.requested(c)
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
		requested := m.requested(&pod.Spec.Containers[i])
		stored.add(pod.Spec.Containers[i].Name, requested)
		running = sum(running, requested)
	}
	stored.total = largest(most, running)
	if pod.Status.Phase == corev1.PodPending && pod.Spec.NodeName == "" {
		if stored.wants = wants(&pod.Status, stored.total); stored.wants != nil {
			stored.placement = placementOf(&pod.Spec)
		}
	}
	return stored, nil
}

func (p *storedPod) add(container string, requested []amount) {
	for _, a := range requested {
		p.containers = append(p.containers, request{container: container, amount: a})
	}
}

// requested returns what a container requests of the resources that are meant, by name. For these, request and limit are
// the same, and the API server sets the one from the other.
func (m *matcher) requested(c *corev1.Container) []amount {
	requested := m.amounts(c.Resources.Requests)
	for _, limit := range m.amounts(c.Resources.Limits) {
		if !slices.ContainsFunc(requested, func(a amount) bool { return a.resource == limit.resource }) {
			requested = append(requested, limit)
		}
	}
	return slices.DeleteFunc(requested, func(a amount) bool { return a.count == 0 })
}

func (m *matcher) amounts(list corev1.ResourceList) []amount {
	var amounts []amount
	for name, quantity := range list {
		if m.matches(string(name)) {
			amounts = append(amounts, amount{resource: string(name), count: quantity.Value()})
		}
	}
	slices.SortFunc(amounts, func(a, b amount) int { return strings.Compare(a.resource, b.resource) })
	return amounts
}

// sum adds b to a, which is not changed.
func sum(a, b []amount) []amount {
	return combine(a, b, func(x, y int64) int64 { return x + y })
}

// largest takes the larger count of each resource.
func largest(a, b []amount) []amount {
	return combine(a, b, func(x, y int64) int64 { return max(x, y) })
}

func combine(a, b []amount, with func(x, y int64) int64) []amount {
	result := slices.Clone(a)
	for _, other := range b {
		i := slices.IndexFunc(result, func(x amount) bool { return x.resource == other.resource })
		if i < 0 {
			result = append(result, other)
			continue
		}
		result[i].count = with(result[i].count, other.count)
	}
	return result
}

// wants reads from the scheduler's message which of the requested resources it misses on some node. The scheduler misses a
// GPU on a node that never had one, too; which nodes matter is for waits to tell.
func wants(status *corev1.PodStatus, requested []amount) []amount {
	var missing []amount
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse || c.Reason != corev1.PodReasonUnschedulable {
			continue
		}
		for _, a := range requested {
			if insufficient(c.Message, a.resource) {
				missing = append(missing, a)
			}
		}
	}
	return missing
}

// insufficient finds "Insufficient <resource>" in a message as
//
//	0/5 nodes are available: 2 Insufficient cpu, 3 Insufficient nvidia.com/gpu. preemption: 0/5 nodes are available: …
//
// where another resource's name may begin with this one's.
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

// node keeps what is needed of a node.
func (m *matcher) node(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	stored := &storedNode{
		ObjectMeta:  names(&node.ObjectMeta),
		capacity:    m.amounts(node.Status.Capacity),
		allocatable: m.amounts(node.Status.Allocatable),
	}
	if len(stored.capacity)+len(stored.allocatable) > 0 {
		stored.labels, stored.taints = node.Labels, keeping(&node.Spec)
	}
	return stored, nil
}

// tells tells whether a resource is among amounts, with 0 as well.
func tells(amounts []amount, resource string) bool {
	return slices.ContainsFunc(amounts, func(a amount) bool { return a.resource == resource })
}

// count is how many of a resource there are.
func count(amounts []amount, resource string) int64 {
	for _, a := range amounts {
		if a.resource == resource {
			return a.count
		}
	}
	return 0
}
