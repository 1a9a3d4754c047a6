// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

// Cluster is what the pods of a Kubernetes cluster request at one instant, and what its nodes offer, in the order of the names.
type Cluster struct {
	Requests []ContainerRequest
	Nodes    []NodeResource
	Pending  []PendingPods
}

// ContainerRequest is what a container of a pod that has not ended requests of a resource (k8s.container.gpu.request). Init containers that
// end before the other containers start are not counted.
type ContainerRequest struct {
	Namespace, Pod, PodUID, Container string
	Node                              string // empty while the pod is not scheduled
	Resource                          string // k8s.resource.name
	Count                             int64
	Owners                            []Owner // of the pod, from the direct one to the topmost that could be read
}

// NodeResource is what a node offers of a resource.
type NodeResource struct {
	Node, NodeUID string
	Resource      string // k8s.resource.name
	// Capacity and Allocatable are absent if pods on the node request the resource and the node has never had it.
	Capacity, Allocatable Opt[int64]
	Requested             int64 // by the pods that are scheduled to the node, as the scheduler counts
}

// PendingPods counts the pods that are not scheduled for lack of a resource (k8s.cluster.gpu.pod.pending). There is one for every resource
// that a node has or a pod requests, possibly with 0.
type PendingPods struct {
	Resource string
	Pods     int64
}
