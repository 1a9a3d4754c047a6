// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/attribution/cdi"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// The drivers of dynamic resource allocation whose devices are GPUs, by whatever name.
const (
	driverNVIDIA = "gpu.nvidia.com"
	driverAMD    = "gpu.amd.com"
)

// dynamicResolver tells which device is meant by a driver's name for it.
type dynamicResolver struct {
	cdi    *cdi.Registry
	slices *kube.Slices // nil where the API may not be read
	claims *kube.Claims // likewise

	prepared bool // the slices have been waited for
	// told is what the slices have told of devices that are still allocated. A kubelet that starts deletes the slices of its
	// node, and the drivers publish them anew.
	told map[claimed][]string
}

// claimed is a device that a claim was given.
type claimed struct{ namespace, claim, driver, pool, device string }

func claimedOf(d *podresources.Dynamic) claimed {
	return claimed{d.ClaimNamespace, d.Claim, d.Driver, d.Pool, d.Device}
}

// apiWait bounds the wait for ResourceSlices, and for ResourceClaims, and so does half of the time that the read has left.
const apiWait = time.Second

// maxClaims is how many claims are asked for in one read, fewer than client-go lets go at once.
const maxClaims = 8

func briefly(ctx context.Context) (context.Context, context.CancelFunc) {
	wait := apiWait
	if end, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(end)/2)
	}
	return context.WithTimeout(ctx, wait)
}

// prepare has the ResourceSlices read when there is the first allocation that needs them, and waits a moment for them, once:
// so that it is told whose the device is from the first read on.
func (r *dynamicResolver) prepare(ctx context.Context, list []podresources.Allocation) {
	for of := range r.told {
		if !slices.ContainsFunc(list, func(a podresources.Allocation) bool { return a.Dynamic != nil && claimedOf(a.Dynamic) == of }) {
			delete(r.told, of)
		}
	}
	needed := func(a podresources.Allocation) bool {
		return a.Dynamic != nil && ofVendor(a.Dynamic) && len(r.fromCDI(a.Dynamic)) == 0
	}
	if r.slices == nil || r.prepared || !slices.ContainsFunc(list, needed) {
		return
	}
	r.prepared = true
	r.slices.Want()
	ctx, cancel := briefly(ctx)
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

// lookUpClaims asks for the claims of GPUs, and of init containers, that are not known yet, and forgets those that are not allocated
// any more.
func (r *dynamicResolver) lookUpClaims(ctx context.Context, list []podresources.Allocation, early []kube.Claim) {
	if r.claims == nil {
		return
	}
	r.claims.Keep(func(claim kube.Claim) bool {
		return slices.Contains(early, claim) ||
			slices.ContainsFunc(list, func(a podresources.Allocation) bool { return a.Dynamic != nil && claimOf(a.Dynamic) == claim })
	})
	ctx, cancel := briefly(ctx)
	defer cancel()
	asked := 0
	ask := func(claim kube.Claim) {
		if asked < maxClaims && ctx.Err() == nil && r.claims.Wants(claim) {
			asked++
			r.claims.Ask(ctx, claim)
		}
	}
	for i := range list {
		if d := list[i].Dynamic; d != nil && (ofVendor(d) || len(r.fromCDI(d)) > 0) {
			ask(claimOf(d))
		}
	}
	for _, claim := range early {
		ask(claim)
	}
}

func claimOf(d *podresources.Dynamic) kube.Claim {
	return kube.Claim{Namespace: d.ClaimNamespace, Name: d.Claim}
}

// holds tells whether a container of a pod holds a device of a claim that it has, as far as it is known: it may be there for
// administration, or for another container. The pod is nil where it is not known.
func (r *dynamicResolver) holds(pod *kube.Pod, container string, d *podresources.Dynamic) bool {
	if r.claims == nil {
		return true
	}
	var requests []string
	if pod != nil {
		requests = pod.Requests(container, d.Claim)
	}
	return r.claims.Holds(claimOf(d), kube.ClaimedDevice{Driver: d.Driver, Pool: d.Pool, Device: d.Device}, requests)
}

// resolve returns the keys of the devices that a claim was given; none where they cannot be told. It asks in turn: the
// names of the CDI devices and the device nodes that they put into the container, which is exact and needs no API; the
// driver's ResourceSlice; the name itself, where its form is known.
func (r *dynamicResolver) resolve(d *podresources.Dynamic, index *deviceIndex) []string {
	if keys := r.fromCDI(d); len(keys) > 0 {
		return keys
	}
	if !ofVendor(d) {
		return nil
	}
	if r.slices != nil {
		r.slices.Want()
		if keys := sliceKeys(r.slices.Device(d.Driver, d.Pool, d.Device)); keys != nil {
			if r.told == nil {
				r.told = make(map[claimed][]string)
			}
			r.told[claimedOf(d)] = keys
			return keys
		}
		if keys := r.told[claimedOf(d)]; keys != nil {
			return keys
		}
	}
	return nameKeys(d, index)
}

// fromCDI returns the keys that the names of the CDI devices tell, and the device nodes that they stand for.
func (r *dynamicResolver) fromCDI(d *podresources.Dynamic) []string {
	var keys []string
	for _, name := range d.CDI {
		if uuid := cdi.UUID(name); uuid != "" {
			keys = append(keys, strings.ToLower(uuid))
			continue
		}
		keys = append(keys, r.cdi.Device(name)...)
	}
	return keys
}

// sliceKeys reads the attributes that the drivers publish. The PCI address of a partition is that of its GPU, so it only
// counts for a whole one.
func sliceKeys(attributes map[string]string) []string {
	if uuid := attributes["uuid"]; strings.HasPrefix(uuid, "GPU-") || strings.HasPrefix(uuid, "MIG-") {
		return []string{strings.ToLower(uuid)}
	}
	if kind := attributes["type"]; kind != "" && kind != "gpu" && kind != "amdgpu" {
		return nil
	}
	for _, name := range []string{"resource.kubernetes.io/pciBusID", "pciBusID", "pcieBusID", "pciAddr"} {
		if address := attributes[name]; isPCIAddress(address) {
			return []string{pciKey(address)}
		}
	}
	return nil
}

// nameKeys reads a device's name. NVIDIA's gpu-<n> is numbered by device node, in early releases by index; where these
// differ it is not told. AMD's gpu-<card>-<render> are the numbers of the DRM nodes.
func nameKeys(d *podresources.Dynamic, index *deviceIndex) []string {
	rest, ok := strings.CutPrefix(d.Device, "gpu-")
	if !ok {
		return nil
	}
	switch d.Driver {
	case driverNVIDIA:
		if !isNumber(rest) {
			return nil
		}
		byNode, byIndex := index.byKey["nvidia"+rest], index.byKey[indexKey(rest)]
		if len(byNode) == 1 && len(byIndex) == 1 && byNode[0] != byIndex[0] {
			return nil
		}
		return []string{"nvidia" + rest}
	case driverAMD:
		if card, render, ok := strings.Cut(rest, "-"); ok && isNumber(card) && isNumber(render) {
			return []string{"renderD" + render, "card" + card}
		}
	}
	return nil
}

// ofVendor tells whether a driver is one whose devices are known to be GPUs.
func ofVendor(d *podresources.Dynamic) bool { return d.Driver == driverNVIDIA || d.Driver == driverAMD }

// isGPUDriver tells whether all devices of a driver are GPUs that are to be found among those that were read.
func isGPUDriver(d *podresources.Dynamic) bool {
	return ofVendor(d) && !strings.HasPrefix(d.Device, "gpu-vfio-")
}
