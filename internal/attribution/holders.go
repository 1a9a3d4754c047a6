// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/attribution/deviceid"
	"github.com/otelgpu/gpureceiver/internal/attribution/fractions"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// holders finds the containers that hold the devices of a node in one read. It sets Device.Holders and HoldersKnown.
type holders struct {
	node       *gpu.Node
	devices    *deviceid.Index
	containers *containers
	users      *users

	complete     []bool // of each device: all its holders are known
	jobsComplete []bool // of each device: it is known which of Slurm's jobs hold it
	// initContainers are containers whose allocations the kubelet does not list.
	initContainers initContainers
	// reservations are pods that hold devices for others; nil if the API may not be read.
	reservations *reservations
}

func newHolders(node *gpu.Node, devices *deviceid.Index, containers *containers, users *users) *holders {
	for i := range node.Devices {
		node.Devices[i].Holders, node.Devices[i].HoldersKnown, node.Devices[i].HoldersComplete = nil, false, false
	}
	return &holders{node: node, devices: devices, containers: containers, users: users, complete: make([]bool, len(node.Devices)), jobsComplete: make([]bool, len(node.Devices))}
}

// allocatedDevice is what an allocation says about its device.
type allocatedDevice struct {
	container   podContainer
	holder      gpu.Holder // without its Container
	keys        []string   // of the device, in a deviceid.Index; none if the allocation does not identify it
	inKnownForm bool       // the keys are names of the device in a known form
	isGPU       bool       // the device is a GPU, or the resource or driver hands out GPUs
	ofOthers    bool       // the device is another vendor's, or the container does not hold it
	virtual     bool       // the device is a virtual GPU of the one that the keys find
	// unread reports that the device is of a GPU that sources do not read: one that a virtual machine has as a whole, or that is divided
	// among them by another driver.
	unread bool

	grant fractions.Grant // the part of the device that the container was given; nil for the whole device
}

// add adds a container to the holders of the device that was allocated to it. It reports whether the device was found. Which partition of
// its GPU a virtual one has is not known.
func (h *holders) add(allocated allocatedDevice) (found bool) {
	for _, key := range allocated.keys {
		for _, i := range h.devices.Find(key) {
			if allocated.virtual && h.node.Devices[i].Parent != "" {
				continue
			}
			found = true
			h.hold(i, allocated)
		}
	}
	return found
}

// hold adds a holder to a device, once for all slots of the device that the container has. Kubelets before 1.34 list pods that have
// ended with the devices that they had.
func (h *holders) hold(i int, allocated allocatedDevice) {
	pod := h.containers.podNamed(allocated.container, h.users)
	if pod != nil && pod.Ended() {
		return
	}
	if group, reserved := h.reservations.reserved(allocated.container, pod); reserved {
		h.holdForTenants(i, group, allocated.holder)
		return
	}
	h.addHolder(&h.node.Devices[i], allocated.holder, allocated.container, allocated.grant)
}

// addHolder adds a container, with the part of the device that it was given; grant is nil for the whole device.
func (h *holders) addHolder(device *gpu.Device, holder gpu.Holder, container podContainer, grant fractions.Grant) {
	holder.Container = h.containers.holder(container, h.users)
	if grant != nil {
		part := grant.Part(device.Memory.Limit)
		holder.Sharing, holder.Share, holder.MemoryLimit = gpu.SharingFraction, part.Share, part.MemoryLimit
	}
	if !isHeldBy(device, holder.Container) {
		device.Holders = append(device.Holders, holder)
	}
}

// doubt notes the devices that may be the one of an allocation that was not found, and reports whether there are any: the partitions of a
// virtual GPU's GPU, those with unknown names for an ID in a known form, all for any other ID.
func (h *holders) doubt(allocated allocatedDevice) bool {
	var partitions []int
	for _, key := range allocated.keys {
		partitions = append(partitions, h.devices.Find(key)...)
	}
	doubted := false
	for i := range h.complete {
		switch {
		case len(partitions) > 0 && !slices.Contains(partitions, i):
		case len(partitions) == 0 && allocated.inKnownForm && h.devices.IsNamed(i):
		default:
			h.complete[i], doubted = false, true
		}
	}
	return doubted
}

// doubtInitContainers notes the devices that may also be held for init containers. It returns an error that names the unknown allocations, nil if there
// are none.
func (h *holders) doubtInitContainers(initGPUs keptForInit) error {
	if initGPUs.count == 0 {
		return nil
	}
	for i := range h.node.Devices {
		exclusive := func(holder gpu.Holder) bool { return holder.Sharing == gpu.SharingExclusive }
		if !slices.ContainsFunc(h.node.Devices[i].Holders, exclusive) {
			h.complete[i] = false
		}
	}
	return initGPUs.err()
}

// finish sets HoldersKnown and HoldersComplete, and the holders of GPUs with partitions: those who hold their partitions.
func (h *holders) finish() {
	for i := range h.node.Devices {
		if device := &h.node.Devices[i]; h.devices.IsLeaf(i) {
			device.HoldersKnown = h.complete[i] || len(device.Holders) > 0
			device.HoldersComplete = h.complete[i]
		}
	}
	for i := range h.node.Devices {
		if h.devices.IsLeaf(i) {
			continue
		}
		parent := &h.node.Devices[i]
		parent.HoldersKnown, parent.HoldersComplete = true, true
		for _, leaf := range h.devices.Leaves(i) {
			partition := &h.node.Devices[leaf]
			parent.HoldersKnown = parent.HoldersKnown && partition.HoldersKnown
			parent.HoldersComplete = parent.HoldersComplete && partition.HoldersComplete
			for _, holder := range partition.Holders {
				if !isHeldBy(parent, holder.Container) {
					parent.Holders = append(parent.Holders, holder)
				}
			}
		}
	}
}

func (h *holders) addProblem(subject string, err error) {
	h.node.Problems = append(h.node.Problems, gpu.Problem{Kind: gpu.ProblemAllocations, What: subject, Err: err})
}

func isHeldBy(device *gpu.Device, container *gpu.Container) bool {
	return slices.ContainsFunc(device.Holders, func(h gpu.Holder) bool { return h.Container == container })
}
