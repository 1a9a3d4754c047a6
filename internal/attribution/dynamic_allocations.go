// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"context"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/attribution/cdi"
	"github.com/otelgpu/gpureceiver/internal/attribution/deviceid"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

const (
	// apiWait bounds the wait for ResourceSlices, and for ResourceClaims; so does half of the time that the read has left.
	apiWait = time.Second
	// maxClaims is how many claims are requested in one read, fewer than client-go's rate limit lets through at a time.
	maxClaims = 8
)

// dynamicAllocations finds the devices that drivers of dynamic resource allocation (DRA) have given to claims.
type dynamicAllocations struct {
	cdi    *cdi.Registry
	nodes  *deviceid.DeviceNodes
	gpus   gpuNames
	slices *kube.Slices // nil if the API may not be read
	claims *kube.Claims // nil if the API may not be read
	wait   time.Duration

	waited bool // for the slices
	// published has the keys that the slices gave for devices that are still allocated. A kubelet that starts deletes the slices of its
	// node, and the drivers publish them again.
	published map[claimedDevice][]string
}

// claimedDevice is a device that a claim was given.
type claimedDevice struct{ namespace, claim, driver, pool, device string }

func claimedDeviceOf(d *podresources.Dynamic) claimedDevice {
	return claimedDevice{d.ClaimNamespace, d.Claim, d.Driver, d.Pool, d.Device}
}

func claimOf(d *podresources.Dynamic) kube.Claim {
	return kube.Claim{Namespace: d.ClaimNamespace, Name: d.Claim}
}

func newDynamicAllocations(registry *cdi.Registry, nodes *deviceid.DeviceNodes, gpus gpuNames, wait time.Duration) *dynamicAllocations {
	return &dynamicAllocations{cdi: registry, nodes: nodes, gpus: gpus, wait: wait, published: make(map[claimedDevice][]string)}
}

// prepare forgets what was published of devices that are not allocated any more. Before the first allocation that needs the
// ResourceSlices, it waits a moment for them, so that the first read already has the device's holder.
func (r *dynamicAllocations) prepare(ctx context.Context, list []podresources.Allocation) {
	for device := range r.published {
		if !slices.ContainsFunc(list, func(a podresources.Allocation) bool { return a.Dynamic != nil && claimedDeviceOf(a.Dynamic) == device }) {
			delete(r.published, device)
		}
	}
	needed := func(a podresources.Allocation) bool {
		return a.Dynamic != nil && r.gpus.isDriver(a.Dynamic.Driver) && len(r.cdiKeys(a.Dynamic)) == 0
	}
	if r.slices == nil || r.waited || !slices.ContainsFunc(list, needed) {
		return
	}
	r.waited = true
	r.slices.Want()
	ctx, cancel := r.withWait(ctx)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !r.slices.Synced() && r.slices.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (r *dynamicAllocations) withWait(ctx context.Context) (context.Context, context.CancelFunc) {
	wait := r.wait
	if end, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(end)/2)
	}
	return context.WithTimeout(ctx, wait)
}

// lookUpClaims requests the claims of GPUs and of init containers that are not known yet, and forgets those that are not allocated any
// more.
func (r *dynamicAllocations) lookUpClaims(ctx context.Context, list []podresources.Allocation, ofInit []kube.Claim) {
	if r.claims == nil {
		return
	}
	r.claims.Keep(func(claim kube.Claim) bool {
		return slices.Contains(ofInit, claim) ||
			slices.ContainsFunc(list, func(a podresources.Allocation) bool { return a.Dynamic != nil && claimOf(a.Dynamic) == claim })
	})
	ctx, cancel := r.withWait(ctx)
	defer cancel()
	var claims []kube.Claim
	for i := range list {
		if d := list[i].Dynamic; d != nil && (r.gpus.isDriver(d.Driver) || len(r.cdiKeys(d)) > 0) {
			claims = append(claims, claimOf(d))
		}
	}
	requests := 0
	for _, claim := range append(claims, ofInit...) {
		if requests < maxClaims && ctx.Err() == nil && r.claims.Wants(claim) {
			requests++
			r.claims.Get(ctx, claim)
		}
	}
}

// holds reports whether a container of a pod holds a device of a claim that it has. It does not if the device is for administration,
// or for another container's request. Without the claim or the pod, which is nil if it is unknown, it does.
func (r *dynamicAllocations) holds(pod *kube.Pod, container string, d *podresources.Dynamic) bool {
	if r.claims == nil {
		return true
	}
	var requests []string
	if pod != nil {
		requests = pod.Requests(container, d.Claim)
	}
	return r.claims.Holds(claimOf(d), kube.ClaimedDevice{Driver: d.Driver, Pool: d.Pool, Device: d.Device}, requests)
}

// ofInitContainers returns the devices of claims that no container of a pod has but its init containers: the pod keeps them for as long
// as it exists. list is what the kubelet lists.
func (r *dynamicAllocations) ofInitContainers(list []podresources.Allocation, pods []*kube.Pod) []podresources.Allocation {
	if r.claims == nil {
		return nil
	}
	var all []podresources.Allocation
	for _, pod := range pods {
		for _, initClaim := range pod.Init.Claims {
			claim := kube.Claim{Namespace: pod.Namespace, Name: initClaim.Claim}
			for _, device := range r.claims.Devices(claim, pod.Requests(initClaim.Container, initClaim.Claim)) {
				d := &podresources.Dynamic{
					ClaimNamespace: pod.Namespace, Claim: initClaim.Claim, Driver: device.Driver, Pool: device.Pool, Device: device.Device,
				}
				if !slices.ContainsFunc(list, func(a podresources.Allocation) bool {
					return a.Dynamic != nil && a.Pod == pod.Name && claimedDeviceOf(a.Dynamic) == claimedDeviceOf(d) && r.holds(pod, a.Container, a.Dynamic)
				}) {
					all = append(all, podresources.Allocation{Namespace: pod.Namespace, Pod: pod.Name, Container: initClaim.Container, Dynamic: d})
				}
			}
		}
	}
	return all
}

// keys returns the keys of the device that a claim was given; none if it cannot be identified. The CDI devices, with the device nodes
// that they put into the container, are exact and need no API. Next come the driver's ResourceSlice and the form of the device's name.
func (r *dynamicAllocations) keys(d *podresources.Dynamic, devices *deviceid.Index) []string {
	if keys := r.cdiKeys(d); len(keys) > 0 {
		return keys
	}
	if !r.gpus.isDriver(d.Driver) {
		return nil
	}
	if r.slices != nil {
		r.slices.Want()
		if keys := deviceid.AttributeKeys(r.slices.Device(d.Driver, d.Pool, d.Device)); keys != nil {
			r.published[claimedDeviceOf(d)] = keys
			return keys
		}
		if keys := r.published[claimedDeviceOf(d)]; keys != nil {
			return keys
		}
	}
	return deviceid.NameKeys(d.Driver, d.Device, devices)
}

func (r *dynamicAllocations) cdiKeys(d *podresources.Dynamic) []string {
	var keys []string
	for _, name := range d.CDI {
		if key := deviceid.CDIKey(name); key != "" {
			keys = append(keys, key)
			continue
		}
		keys = append(keys, r.nodes.Keys(r.cdi.DeviceNodes(name))...)
	}
	return keys
}
