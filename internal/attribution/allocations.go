// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/attribution/cdi"
	"github.com/otelgpu/gpureceiver/internal/attribution/deviceid"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// allocations finds the holders of devices: what the kubelet lists, and what the API knows besides.
type allocations struct {
	kubelet *kubeletAllocations
	dynamic *dynamicAllocations
}

func newAllocations(config *PodResourcesConfig, minors string) (*allocations, error) {
	kubelet, err := podresources.New(config.Endpoint)
	if err != nil {
		return nil, err
	}
	return &allocations{
		kubelet: &kubeletAllocations{client: kubelet},
		dynamic: newDynamicAllocations(cdi.New(config.CDIDirs), deviceid.NewDeviceNodes(minors)),
	}, nil
}

// findHolders adds to the devices of h's node those who hold them, and to the node's Problems what could not be found out.
func (a *allocations) findHolders(ctx context.Context, h *holders, now time.Time) {
	list, known, err := a.kubelet.list(ctx, now)
	if err != nil {
		h.addProblem("pod resources", err)
	}
	if known == noneKnown {
		return
	}
	pods := h.containers.podsWithInitDevices()
	if slices.ContainsFunc(list, func(a podresources.Allocation) bool { return a.Dynamic != nil }) {
		if err := a.dynamic.cdi.Refresh(); err != nil {
			h.addProblem("CDI", fmt.Errorf("attribution: %w", err))
		}
	}
	a.dynamic.lookUpClaims(ctx, list, initClaims(pods))
	list = append(slices.Clip(list), a.dynamic.ofInitContainers(list, pods)...)
	a.dynamic.prepare(ctx, list)

	for i := range h.complete {
		h.complete[i] = known == allKnown
	}
	var unresolved unresolvedAllocations
	for i := range list {
		allocated := a.device(h, &list[i])
		if allocated.ofOthers || h.add(allocated) || !allocated.isGPU {
			continue
		}
		doubted := h.doubt(allocated.inKnownForm)
		unresolved.add(&list[i], doubted)
	}
	if unresolved.count > 0 {
		h.addProblem("allocations", unresolved.err())
	}
	h.initContainers = newInitContainers(pods)
	if err := h.doubtKept(keptDevices(pods, h.node.Vendor)); err != nil {
		h.addProblem("allocations to init containers", err)
	}
}

// device returns what an allocation says about the device.
func (a *allocations) device(h *holders, allocation *podresources.Allocation) allocatedDevice {
	d := allocatedDevice{
		container: podContainer{namespace: allocation.Namespace, pod: allocation.Pod, name: allocation.Container},
		holder:    gpu.Holder{Resource: allocation.Resource},
	}
	if dynamic := allocation.Dynamic; dynamic != nil {
		d.holder.Resource, d.holder.DRA = dynamic.Driver, true
		d.isGPU = deviceid.IsReadable(dynamic.Driver, dynamic.Device)
		vendor := deviceid.VendorOf(dynamic.Driver)
		d.ofOthers = (vendor != "" && vendor != h.node.Vendor) ||
			!a.dynamic.holds(h.containers.podNamed(d.container, h.users), allocation.Container, dynamic)
		if !d.ofOthers {
			d.keys = a.dynamic.keys(dynamic, h.devices)
		}
		d.inKnownForm = len(d.keys) > 0
		return d
	}
	id := deviceid.ParsePluginID(allocation.Resource, allocation.ID)
	d.holder.Sharing = id.Sharing
	d.isGPU = id.Extended || deviceid.IsGPUResource(allocation.Resource)
	d.ofOthers = id.Vendor != "" && id.Vendor != h.node.Vendor
	if id.Key != "" {
		d.keys = []string{id.Key}
	}
	d.inKnownForm = id.Key != "" && !id.Extended
	return d
}
