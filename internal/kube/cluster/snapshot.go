// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

type nodeKey struct{ node, resource string }

// Snapshot returns what is known now.
func (v *View) Snapshot() gpu.Cluster {
	var s gpu.Cluster
	requested := make(map[nodeKey]int64)
	pending := make(map[string]int64)
	pods, _ := v.pods.GetIndexer().ByIndex(requestIndex, "") // the index exists
	var waiting []*storedPod
	for _, object := range pods {
		pod, ok := object.(*storedPod)
		if !ok {
			continue
		}
		owners := v.ownersOf(pod)
		for i := range pod.containers {
			s.Requests = append(s.Requests, gpu.ContainerRequest{
				Namespace: pod.Namespace, Pod: pod.Name, PodUID: string(pod.UID), Container: pod.containers[i].container,
				Node: pod.node, Resource: pod.containers[i].resource, Count: pod.containers[i].count,
				Owners: owners,
			})
		}
		for _, a := range v.claimsOf(pod) {
			if count, ok := a.Count.Get(); ok {
				s.Requests = append(s.Requests, gpu.ContainerRequest{
					Namespace: pod.Namespace, Pod: pod.Name, PodUID: string(pod.UID), Container: a.Container, Node: pod.node, Resource: a.Resource, Count: count,
					Owners: owners,
				})
			}
		}
		for _, a := range pod.total {
			pending[a.resource] += 0
			if pod.node != "" {
				requested[nodeKey{pod.node, a.resource}] += a.count
			}
		}
		if len(pod.missing) > 0 {
			waiting = append(waiting, pod)
		}
	}
	nodes := v.storedNodes()
	offers := make(map[string][]offer)
	for _, pod := range waiting {
		for _, a := range pod.missing {
			offered, known := offers[a.resource]
			if !known {
				offered = offersOf(a.resource, nodes, requested)
				offers[a.resource] = offered
			}
			if waits(pod.placement, a.count, offered) {
				pending[a.resource]++
			}
		}
	}
	s.Nodes = nodeResources(nodes, requested, pending)
	for resource, count := range pending {
		s.Pending = append(s.Pending, gpu.PendingPods{Resource: resource, Pods: count})
	}
	slices.SortFunc(s.Requests, func(a, b gpu.ContainerRequest) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pod, b.Pod),
			strings.Compare(a.Container, b.Container), strings.Compare(a.Resource, b.Resource))
	})
	slices.SortFunc(s.Pending, func(a, b gpu.PendingPods) int { return strings.Compare(a.Resource, b.Resource) })
	return s
}

func (v *View) storedNodes() []*storedNode {
	objects := v.nodes.GetIndexer().List()
	nodes := make([]*storedNode, 0, len(objects))
	for _, object := range objects {
		if node, ok := object.(*storedNode); ok {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// offer is a node that has a resource, or had it, and how many of it are left.
type offer struct {
	node *storedNode
	left int64
}

func offersOf(resource string, nodes []*storedNode, requested map[nodeKey]int64) []offer {
	var offers []offer
	for _, node := range nodes {
		// Also with 0: kubelets leave that when a device plugin is gone.
		if contains(node.allocatable, resource) || contains(node.capacity, resource) {
			offers = append(offers, offer{node, count(node.allocatable, resource) - requested[nodeKey{node.Name, resource}]})
		}
	}
	return offers
}

// waits reports whether a pod waits for a resource that the scheduler misses on some node. The scheduler misses it on each node without
// any, and most nodes of a cluster may have none, regardless of what keeps the pod from the nodes that have it. So either some node has or
// had the resource, fits the pod and has too few left, or no node ever had it.
func waits(p *placement, need int64, offers []offer) bool {
	return len(offers) == 0 || slices.ContainsFunc(offers, func(o offer) bool { return o.left < need && p.fits(&o.node.site) })
}

// nodeResources returns what the nodes have, without requests on a node that is gone.
func nodeResources(nodes []*storedNode, requested map[nodeKey]int64, pending map[string]int64) []gpu.NodeResource {
	var all []gpu.NodeResource
	for _, node := range nodes {
		begin := len(all)
		find := func(resource string) *gpu.NodeResource {
			for i := begin; i < len(all); i++ {
				if all[i].Resource == resource {
					return &all[i]
				}
			}
			pending[resource] += 0
			all = append(all, gpu.NodeResource{
				Node: node.Name, NodeUID: string(node.UID), Resource: resource, Requested: requested[nodeKey{node.Name, resource}],
			})
			return &all[len(all)-1]
		}
		for _, a := range node.capacity {
			find(a.resource).Capacity = gpu.Some(a.count)
		}
		for _, a := range node.allocatable {
			find(a.resource).Allocatable = gpu.Some(a.count)
		}
		for resource := range pending {
			if requested[nodeKey{node.Name, resource}] > 0 {
				find(resource)
			}
		}
	}
	slices.SortFunc(all, func(a, b gpu.NodeResource) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Resource, b.Resource))
	})
	return all
}
