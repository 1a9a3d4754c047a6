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

// allocations finds the holders of devices: what the kubelet lists, and what the API and sysfs also know.
type allocations struct {
	kubelet *kubeletAllocations
	dynamic *dynamicAllocations
	host    *deviceid.HostDevices
	gpus    gpuNames
	ignored *ignoredAllocations
	parts   partsConfig
}

func newAllocations(config *PodResourcesConfig, o *options, parts partsConfig) (*allocations, error) {
	kubelet, err := podresources.New(config.Endpoint)
	if err != nil {
		return nil, err
	}
	kubelet.Timeout = o.bound(kubelet.Timeout)
	gpus := gpuNames(config.GPUResources)
	return &allocations{
		kubelet: &kubeletAllocations{client: kubelet},
		dynamic: newDynamicAllocations(cdi.New(config.CDIDirs), deviceid.NewDeviceNodes(o.minors), gpus, o.bound(apiWait)),
		host:    deviceid.NewHostDevices(o.sys),
		gpus:    gpus,
		ignored: newIgnoredAllocations(o.logger),
		parts:   parts,
	}, nil
}

// gpuNames are patterns (path.Match) of resources and DRA drivers that represent GPUs, in addition to the known ones.
type gpuNames []string

func (n gpuNames) isResource(name string) bool {
	return deviceid.IsGPUResource(name) || deviceid.MatchesAny(n, name)
}

func (n gpuNames) isDriver(name string) bool {
	return deviceid.IsGPUDriver(name) || deviceid.MatchesAny(n, name)
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
	h.reservations = newReservations(a.parts.reservationNamespaces, h.containers)
	var unresolved unresolvedAllocations
	for i := range list {
		devices, ok := a.parts.granted(h, &list[i])
		if !ok {
			devices = []allocatedDevice{a.device(h, &list[i])}
		}
		for _, device := range devices {
			a.place(h, &list[i], device, &unresolved)
		}
	}
	a.ignored.log()
	if unresolved.count > 0 {
		h.addProblem("allocations", unresolved.err())
	}
	h.initContainers = newInitContainers(pods)
	if err := h.doubtInitContainers(keptDevices(pods, h.node.Vendor, a.gpus)); err != nil {
		h.addProblem("allocations to init containers", err)
	}
}

// place adds the holder of the device of an allocation. If a GPU is not found, the holders of the GPUs that it may be are uncertain; a
// device that is not a GPU, as far as is known, leaves no uncertainty.
func (a *allocations) place(h *holders, allocation *podresources.Allocation, d allocatedDevice, unresolved *unresolvedAllocations) {
	if d.ofOthers || h.add(d) {
		return
	}
	if err := a.lookUp(h, allocation, &d); err != nil {
		h.addProblem("sysfs", fmt.Errorf("attribution: %s may be for a GPU: %w", describeAllocation(allocation), err))
	}
	switch {
	case d.ofOthers, h.add(d), d.unread:
	case d.isGPU:
		unresolved.add(allocation, h.doubt(d))
	default:
		a.ignored.add(allocation)
	}
}

// device returns what an allocation says about the device.
func (a *allocations) device(h *holders, allocation *podresources.Allocation) allocatedDevice {
	d := allocatedDevice{
		container: podContainer{namespace: allocation.Namespace, pod: allocation.Pod, name: allocation.Container},
		holder:    gpu.Holder{Resource: allocation.Resource},
	}
	if dynamic := allocation.Dynamic; dynamic != nil {
		d.holder.Resource, d.holder.Allocator = dynamic.Driver, gpu.AllocatorDRA
		d.isGPU = a.gpus.isDriver(dynamic.Driver)
		d.unread = deviceid.IsPassedThrough(dynamic.Driver, dynamic.Device)
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
	d.isGPU = id.IsGPU() || a.gpus.isResource(allocation.Resource)
	d.ofOthers = id.Vendor != "" && id.Vendor != h.node.Vendor
	if id.Key != "" {
		d.keys = []string{id.Key}
	}
	d.inKnownForm = id.Key != "" && !id.Extended
	return d
}

// lookUp completes what an allocation says about a device that was not found with what sysfs shows of the device. If that cannot be read,
// the device may be a GPU.
func (a *allocations) lookUp(h *holders, allocation *podresources.Allocation, d *allocatedDevice) error {
	var device deviceid.HostDevice
	var err error
	if allocation.Dynamic == nil {
		groups := deviceid.VendorOf(allocation.Resource) != "" || a.gpus.isResource(allocation.Resource)
		device, err = a.host.Find(allocation.ID, groups)
	} else {
		device, err = a.node(d.keys)
	}
	switch {
	case err != nil:
		d.isGPU = true
	case !device.IsGPU:
	case device.Vendor != h.node.Vendor:
		d.ofOthers = true
	default:
		d.isGPU, d.inKnownForm, d.virtual = true, true, device.Virtual
		d.unread = d.unread || device.Foreign
		if device.Key != "" {
			d.keys = []string{device.Key}
		}
		if device.Virtual {
			d.holder.Sharing, d.holder.Virtual = gpu.SharingTimeSlicing, true
		}
	}
	return err
}

// node returns the GPU that a DRA driver puts into the container, by the keys of its device nodes.
func (a *allocations) node(keys []string) (deviceid.HostDevice, error) {
	for _, key := range keys {
		if vendor := deviceid.VendorOfKey(key); vendor != "" {
			return deviceid.HostDevice{IsGPU: true, Vendor: vendor}, nil
		}
		if device, err := a.host.FindNode(key); err != nil || device.IsGPU {
			return device, err
		}
	}
	return deviceid.HostDevice{}, nil
}
