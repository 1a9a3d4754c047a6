// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/lifecycle"
)

// WatchClaims has pods count that request GPUs by a ResourceClaim, of the DeviceClasses whose names match a pattern. It is called before Start, and
// needs list and watch on resourceclaims.
func (v *View) WatchClaims(clients *kube.Clients, classes []string) error {
	if err := CheckResources(classes); err != nil {
		return fmt.Errorf("cluster: device_classes: %w", err)
	}
	v.store.classes = classes
	v.claims = kube.WatchClaims(clients, v.store.classes.match, v.claimChanged)
	return nil
}

// claimSource has the ResourceClaims of a cluster: kube.WatchedClaims.
type claimSource interface {
	Run(ctx context.Context)
	Synced() bool
	Err() error
	Get(claim kube.Claim) *kube.RequestedClaim
}

// claimIndex has the pods by their claims.
const claimIndex = "claim"

func indexClaims(object any) ([]string, error) {
	pod, ok := object.(*storedPod)
	if !ok {
		return nil, nil
	}
	var keys []string
	for i := range pod.claims {
		if name := pod.claims[i].Name; name != "" {
			keys = append(keys, pod.Namespace+"/"+name)
		}
	}
	return keys, nil
}

// claimed is a pod with claims whose end was not seen.
type claimed struct {
	pod         *storedPod // as it was last handed on
	known       map[string]*kube.RequestedClaim
	requestsGPU bool // it requests a GPU
}

// follow hands a pod on that requests a GPU, as it is now.
func (v *View) follow(object any, handler func(*lifecycle.Pod)) {
	stored := podIn(object)
	if stored == nil {
		return
	}
	if len(stored.claims) == 0 {
		handler(v.lifeOf(stored, nil, nil))
		return
	}
	v.handing.Lock()
	defer v.handing.Unlock()
	c := v.claimed[stored.UID]
	if c == nil {
		c = &claimed{known: make(map[string]*kube.RequestedClaim)}
		v.claimed[stored.UID] = c
	}
	c.pod = stored
	v.hand(c, handler)
}

// unfollow hands on that a pod exists no more.
func (v *View) unfollow(object any, handler func(*lifecycle.Pod)) {
	stored := podIn(object)
	if stored == nil {
		return
	}
	if len(stored.claims) == 0 {
		handler(v.lifeOf(stored, nil, nil))
		return
	}
	v.handing.Lock()
	defer v.handing.Unlock()
	if c := v.claimed[stored.UID]; c != nil {
		delete(v.claimed, stored.UID)
		c.pod = stored
		v.hand(c, handler)
	}
}

// claimChanged hands on the pods of a claim again. They are as they were handed on last, and not as the informer has them: what is between was not
// handed on yet.
func (v *View) claimChanged(claim kube.Claim) {
	if v.podHandler == nil {
		return
	}
	objects, _ := v.pods.GetIndexer().ByIndex(claimIndex, claim.Namespace+"/"+claim.Name) // the index exists
	v.handing.Lock()
	defer v.handing.Unlock()
	for _, object := range objects {
		if pod, ok := object.(*storedPod); ok && v.claimed[pod.UID] != nil {
			v.hand(v.claimed[pod.UID], v.podHandler)
		}
	}
}

// hand hands on a pod with claims, if it requests a GPU. What a claim was given is kept after the claim has lost it: that happens before the pod is
// deleted. A pod that is known from before is handed on although its claims cannot be read: what they are for is known, too.
func (v *View) hand(c *claimed, handler func(*lifecycle.Pod)) {
	known, partial := c.requestsGPU || v.knows(string(c.pod.UID)), false
	get := func(name string) *kube.RequestedClaim {
		if name == "" { // not made yet, or not needed
			return nil
		}
		if now := v.claims.Get(kube.Claim{Namespace: c.pod.Namespace, Name: name}); now != nil {
			c.know(name, now)
		}
		claim := c.known[name]
		if claim == nil || known && !claim.Allocated && len(claim.Requests) > 0 && c.pod.life.Node != "" { // it is not here yet, or was given back
			partial = true
			return nil
		}
		return claim
	}
	requests, allocations := claimRequests(c.pod, get, true)
	c.requestsGPU = c.requestsGPU || len(requests) > 0 || len(c.pod.life.Requests) > 0 || len(c.pod.life.Allocations) > 0 || known && partial
	if c.requestsGPU {
		pod := v.lifeOf(c.pod, requests, allocations)
		pod.Partial = partial
		handler(pod)
	}
}

// know takes a claim as it is now. A pod with a node keeps the claim that it had, and not another one that was made later under the same name. A claim
// that others had, too, stays shared when they have ended.
func (c *claimed) know(name string, now *kube.RequestedClaim) {
	if known := c.known[name]; known != nil {
		same := known.UID == now.UID
		if known.Allocated && (!now.Allocated || !same && c.pod.life.Node != "") {
			return
		}
		if same && now.Users < known.Users {
			merged := *now
			merged.Users = known.Users
			now = &merged
		}
	}
	c.known[name] = now
}
