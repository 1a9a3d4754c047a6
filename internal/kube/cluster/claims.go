// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
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
	pod    *storedPod // as it was last handed on
	known  map[string]*kube.RequestedClaim
	wanted bool // it requests a GPU
}

// follow hands a pod on that requests a GPU, as it is now.
func (v *View) follow(object any, seen func(*lifecycle.Pod)) {
	stored := podIn(object)
	if stored == nil {
		return
	}
	if len(stored.claims) == 0 {
		seen(v.lifeOf(stored, nil, nil))
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
	v.hand(c, seen)
}

// unfollow hands on that a pod exists no more.
func (v *View) unfollow(object any, gone func(*lifecycle.Pod)) {
	stored := podIn(object)
	if stored == nil {
		return
	}
	if len(stored.claims) == 0 {
		gone(v.lifeOf(stored, nil, nil))
		return
	}
	v.handing.Lock()
	defer v.handing.Unlock()
	if c := v.claimed[stored.UID]; c != nil {
		delete(v.claimed, stored.UID)
		c.pod = stored
		v.hand(c, gone)
	}
}

// claimChanged hands on the pods of a claim again. They are as they were handed on last, and not as the informer has them: what is between was not
// handed on yet.
func (v *View) claimChanged(claim kube.Claim) {
	if v.seen == nil {
		return
	}
	objects, _ := v.pods.GetIndexer().ByIndex(claimIndex, claim.Namespace+"/"+claim.Name) // the index exists
	v.handing.Lock()
	defer v.handing.Unlock()
	for _, object := range objects {
		if pod, ok := object.(*storedPod); ok && v.claimed[pod.UID] != nil {
			v.hand(v.claimed[pod.UID], v.seen)
		}
	}
}

// hand hands on a pod with claims, if it requests a GPU. What a claim was given is kept after the claim has lost it: that happens before the pod is
// deleted.
func (v *View) hand(c *claimed, to func(*lifecycle.Pod)) {
	requests, allocations := claimRequests(c.pod, func(name string) *kube.RequestedClaim {
		if now := v.claims.Get(kube.Claim{Namespace: c.pod.Namespace, Name: name}); now != nil {
			c.know(name, now)
		}
		return c.known[name]
	})
	c.wanted = c.wanted || len(requests) > 0 || len(c.pod.life.Requests) > 0 || len(c.pod.life.Allocations) > 0
	if c.wanted {
		to(v.lifeOf(c.pod, requests, allocations))
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
			kept := *now
			kept.Users = known.Users
			now = &kept
		}
	}
	c.known[name] = now
}

// claimRequests returns what the claims of a pod request, and which containers have it.
func claimRequests(pod *storedPod, get func(name string) *kube.RequestedClaim) (requests []gpu.ResourceCount, allocations []lifecycle.Allocation) {
	for i := range pod.claims {
		claim := get(pod.claims[i].Name)
		if claim == nil {
			continue
		}
		for _, r := range claim.Requests {
			requests = lifecycle.AddRequests(requests, []gpu.ResourceCount{{Resource: r.Class, Count: r.Count}})
			first := len(allocations)
			for _, use := range pod.claims[i].Uses {
				if use.Request == "" || use.Request == r.Name {
					allocations = append(allocations, lifecycle.Allocation{Container: use.Container, Resource: r.Class, Count: r.Count, DRA: true, Shared: claim.Users > 1})
				}
			}
			if uses := allocations[first:]; len(uses) > 1 {
				for j := range uses {
					uses[j].Shared = true
				}
			}
		}
	}
	return requests, summed(allocations)
}

// summed returns one allocation for each container and class, up to a bound.
func summed(all []lifecycle.Allocation) []lifecycle.Allocation {
	var sums []lifecycle.Allocation
	for _, a := range all {
		i := slices.IndexFunc(sums, func(sum lifecycle.Allocation) bool { return sum.Container == a.Container && sum.Resource == a.Resource })
		switch {
		case i >= 0:
			sum := lifecycle.AddRequests([]gpu.ResourceCount{{Count: sums[i].Count}}, []gpu.ResourceCount{{Count: a.Count}})
			sums[i].Count, sums[i].Shared = sum[0].Count, sums[i].Shared || a.Shared
		case len(sums) < lifecycle.MaxAllocations:
			sums = append(sums, a)
		}
	}
	return sums
}

// waitClaims waits, within bounds, until the claims of a pod with a node are known: two watches, of the pods and of their claims, are not in step.
func (v *View) waitClaims(object any) {
	stored := podIn(object)
	if stored == nil || len(stored.claims) == 0 || stored.ended {
		return
	}
	if !v.claimsListed {
		v.claimsListed = true
		v.poll(ownersWait, v.claims.Synced)
	}
	complete := func() bool {
		for i := range stored.claims {
			if claim := v.claims.Get(kube.Claim{Namespace: stored.Namespace, Name: stored.claims[i].Name}); claim == nil || !claim.Allocated {
				return false
			}
		}
		return true
	}
	if stored.node != "" && !time.Now().Before(v.claimsPause) && !v.poll(ownerWait, complete) {
		v.claimsPause = time.Now().Add(ownerPause)
	}
}

// claimsOf returns what containers request by claims now, of a snapshot.
func (v *View) claimsOf(pod *storedPod) []lifecycle.Allocation {
	if v.claims == nil || len(pod.claims) == 0 {
		return nil
	}
	_, allocations := claimRequests(pod, func(name string) *kube.RequestedClaim {
		return v.claims.Get(kube.Claim{Namespace: pod.Namespace, Name: name})
	})
	return allocations
}
