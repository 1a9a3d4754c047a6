// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube/lifecycle"
)

// store is what decides what is kept of objects.
type store struct {
	names     resourceNames
	classes   resourceNames // DeviceClasses
	snapshots bool          // followed pods have snapshots
	follow    bool          // pods are followed
	labels    []string      // of followed pods
}

// lifeOf returns the state of a pod that is followed.
func (s *store) lifeOf(pod *corev1.Pod, stored *storedPod) *lifecycle.Pod {
	var total []amount
	for _, r := range stored.containers {
		total = sum(total, []amount{r.amount})
	}
	requests := make([]gpu.ResourceCount, 0, len(total))
	for _, a := range total {
		requests = append(requests, gpu.ResourceCount{Resource: a.resource, Count: gpu.Some(a.count)})
	}
	life := lifecycle.New(pod, requests, nil, s.labels)
	for _, r := range stored.containers[:min(len(stored.containers), lifecycle.MaxAllocations)] {
		life.Allocations = append(life.Allocations, lifecycle.Allocation{Container: r.container, Resource: r.resource, Count: gpu.Some(r.count)})
	}
	if s.snapshots {
		life.Snapshot, life.Version = lifecycle.Snapshot(pod), pod.ResourceVersion
	}
	return life
}

// Followers take the pods that request GPUs. For one pod, Seen and Gone are called one after the other; for several
// pods at the same time, and Listed at any time.
type Followers struct {
	Seen func(*lifecycle.Pod)                    // a pod, when it was first seen and whenever it has changed
	Gone func(pod *lifecycle.Pod, complete bool) // a pod that exists no more; complete: with its last state
	// Listed: the first list was read to its end. exists reports whether a pod is there, followed or not.
	Listed func(exists func(*lifecycle.Pod) bool)
	// Knows reports whether a pod is known by its UID: Seen has had it, in this process or an earlier one.
	Knows func(uid string) bool
	// Snapshots: the pods have snapshots.
	Snapshots bool
}

// Follow has the pods that request GPUs followed, with labels of these keys. It is called before Start.
func (v *View) Follow(labels []string, followers Followers) error {
	v.store.follow, v.store.labels = true, labels
	v.store.snapshots, v.podHandler, v.knows = followers.Snapshots, followers.Seen, followers.Knows
	registration, err := v.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			v.await(nil, podIn(object))
			v.follow(object, followers.Seen)
		},
		UpdateFunc: func(before, object any) {
			previous, pod := podIn(before), podIn(object)
			if previous != nil && (pod == nil || pod.UID != previous.UID) { // another pod has the name, and the end of the first was not seen
				v.unfollow(previous, func(pod *lifecycle.Pod) { followers.Gone(pod, false) })
			}
			v.await(previous, pod)
			v.follow(object, followers.Seen)
		},
		DeleteFunc: func(object any) {
			last, missed := object.(cache.DeletedFinalStateUnknown)
			if missed {
				object = last.Obj
			}
			v.unfollow(object, func(pod *lifecycle.Pod) { followers.Gone(pod, !missed) })
		},
	})
	if err != nil {
		return fmt.Errorf("cluster: follow pods: %w", err)
	}
	v.listed = func() {
		if cache.WaitForCacheSync(v.ctx.Done(), registration.HasSynced) {
			followers.Listed(v.exists)
		}
	}
	return nil
}

// exists reports whether a pod is there, by name and UID.
func (v *View) exists(pod *lifecycle.Pod) bool {
	object, _, _ := v.pods.GetStore().GetByKey(cache.NewObjectName(pod.Namespace, pod.Name).String())
	stored, ok := object.(*storedPod)
	return ok && string(stored.UID) == pod.UID
}

// podIn returns a pod that may request GPUs and is followed; nil if there is none.
func podIn(object any) *storedPod {
	stored, ok := object.(*storedPod)
	if !ok || stored.life == nil {
		return nil
	}
	return stored
}

// lifeOf returns the state of a pod with its owners, as far as they are known now, and with what its claims are for.
func (v *View) lifeOf(stored *storedPod, requests []gpu.ResourceCount, allocations []lifecycle.Allocation) *lifecycle.Pod {
	pod := *stored.life
	pod.Owners = v.ownersOf(stored)
	pod.Requests = lifecycle.AddRequests(pod.Requests, requests)
	pod.Allocations = slices.Concat(pod.Allocations, allocations)
	return &pod
}

// ownersOf returns the owners of a pod as far as they are known now.
func (v *View) ownersOf(stored *storedPod) []gpu.Owner {
	owners, _ := v.owners.Chain(stored.Namespace, stored.owners)
	return owners
}
