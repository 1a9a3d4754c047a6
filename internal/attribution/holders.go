// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/attribution/cdi"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// keepAllocations is for how long the last allocations are taken as they were while the kubelet does not answer: nothing
// is allocated without it, but what it takes back when it is there again is not seen.
const keepAllocations = 5 * time.Minute

// lister is the kubelet's PodResources API.
type lister interface {
	List(ctx context.Context) ([]podresources.Allocation, error)
	Close() error
}

// allocations asks the kubelet, and remembers what it said last.
type allocations struct {
	kubelet  lister
	resolver dynamicResolver

	last []podresources.Allocation
	read time.Time
}

// list returns what is allocated, and whether that is known. The problem is told in either case.
func (a *allocations) list(ctx context.Context, now time.Time) ([]podresources.Allocation, bool, error) {
	list, err := a.kubelet.List(ctx)
	if err == nil {
		a.last, a.read = list, now
		return list, true, nil
	}
	if a.read.IsZero() || now.Sub(a.read) > keepAllocations {
		a.last = nil
		return nil, false, err
	}
	return a.last, true, err
}

// attributeAllocations sets the holders of each device.
func (a *Attributor) attributeAllocations(ctx context.Context, node *gpu.Node, d *domain, now time.Time) {
	for i := range node.Devices {
		node.Devices[i].Holders, node.Devices[i].HoldersKnown = nil, false
	}
	d.certain = false
	if a.allocations == nil || len(node.Devices) == 0 {
		return
	}
	list, known, err := a.allocations.list(ctx, now)
	if err != nil {
		node.Problems = append(node.Problems, gpu.Problem{What: "pod resources", Err: err})
	}
	if !known {
		return
	}
	dynamic := slices.ContainsFunc(list, func(allocation podresources.Allocation) bool { return allocation.Dynamic != nil })
	if dynamic {
		if err := a.allocations.resolver.cdi.Refresh(); err != nil {
			node.Problems = append(node.Problems, gpu.Problem{What: "CDI", Err: fmt.Errorf("attribution: %w", err)})
		}
	}
	lost := &unresolved{}
	for i := range list {
		a.allocate(node, d, &list[i], lost)
	}
	if lost.count > 0 {
		node.Problems = append(node.Problems, gpu.Problem{What: "allocations", Err: lost.err()})
	}
	d.certain = lost.untold == 0
	settle(node, d)
}

// unresolved counts the allocations of devices that are not among those that were read.
type unresolved struct {
	count  int
	untold int // of which it cannot be told which device is meant
	first  string
}

func (u *unresolved) add(allocation *podresources.Allocation, told bool) {
	if u.count == 0 {
		u.first = describeAllocation(allocation)
	}
	u.count++
	if !told {
		u.untold++
	}
}

func (u *unresolved) err() error {
	what := "is none of the GPUs that were read"
	if u.untold > 0 {
		what = "cannot be told to be one of the GPUs; for dynamic resource allocation, mount " +
			fmt.Sprint(cdi.DefaultDirs()) + " or allow list and watch on resourceslices"
	}
	return fmt.Errorf("attribution: %s %s (%d allocations in all)", u.first, what, u.count)
}

func describeAllocation(allocation *podresources.Allocation) string {
	if d := allocation.Dynamic; d != nil {
		return fmt.Sprintf("%s device %s/%s", d.Driver, d.Pool, d.Device)
	}
	return fmt.Sprintf("%s device %s", allocation.Resource, allocation.ID)
}

// allocate adds one allocation to the holders of its devices.
func (a *Attributor) allocate(node *gpu.Node, d *domain, allocation *podresources.Allocation, lost *unresolved) {
	holder := gpu.Holder{Resource: allocation.Resource}
	var keys []string
	var single [1]string
	var wanted bool // all devices of this resource or driver are GPUs
	var vendor gpu.Vendor
	if dynamic := allocation.Dynamic; dynamic != nil {
		holder.Resource, holder.DRA = dynamic.Driver, true
		vendor, wanted = vendorOf(dynamic.Driver), isGPUDriver(dynamic)
		if vendor != "" && vendor != node.Vendor {
			return
		}
		keys = a.allocations.resolver.resolve(dynamic, &d.index)
	} else {
		t := parseID(allocation.Resource, allocation.ID)
		vendor, wanted, holder.Sharing = t.vendor, isGPUResource(allocation.Resource), t.sharing
		if vendor != "" && vendor != node.Vendor {
			return
		}
		if t.key != "" {
			single[0] = t.key
			keys = single[:]
		}
	}
	found := false
	for _, key := range keys {
		for _, i := range d.index.find(key) {
			found = true
			a.hold(node, d, i, allocation, holder)
		}
	}
	if !found && wanted {
		told := len(keys) > 0 && !d.index.unnamed
		lost.add(allocation, told)
	}
}

// hold adds a holder to a device, once however many slots of it the container has.
func (a *Attributor) hold(node *gpu.Node, d *domain, i int, allocation *podresources.Allocation, holder gpu.Holder) {
	name := podContainer{namespace: allocation.Namespace, pod: allocation.Pod, name: allocation.Container}
	if a.ended(name) {
		return
	}
	holder.Container = a.containers.holder(name, &d.users)
	device := &node.Devices[i]
	for j := range device.Holders {
		if device.Holders[j].Container == holder.Container {
			return
		}
	}
	device.Holders = append(device.Holders, holder)
}

// ended tells whether the API knows that a pod has ended. Kubelets before 1.34 list pods that have ended with the devices
// that they once had.
func (a *Attributor) ended(name podContainer) bool {
	if a.view == nil {
		return false
	}
	pod := a.view.Pods.ByName(name.namespace, name.pod)
	return pod != nil && pod.Ended()
}

// settle completes what can only be told when all allocations are known.
func settle(node *gpu.Node, d *domain) {
	for i := range node.Devices {
		device := &node.Devices[i]
		if !d.index.isLeaf(i) {
			continue
		}
		device.HoldersKnown = d.certain || len(device.Holders) > 0
		dynamic := 0
		for j := range device.Holders {
			if device.Holders[j].DRA {
				dynamic++
			}
		}
		replicas := gpu.NumSharings // not looked at yet
		for j := range device.Holders {
			h := &device.Holders[j]
			switch {
			case h.DRA && dynamic > 1:
				h.Sharing = gpu.SharingClaim
			case h.Sharing == gpu.SharingReplicas:
				if replicas == gpu.NumSharings {
					replicas = d.replicas(device, node.Processes)
				}
				h.Sharing = replicas
			}
		}
	}
	// A GPU is held by those who hold its partitions.
	for i := range node.Devices {
		if d.index.isLeaf(i) {
			continue
		}
		parent := &node.Devices[i]
		parent.HoldersKnown = true
		for _, leaf := range d.index.leaves[i] {
			parent.HoldersKnown = parent.HoldersKnown && node.Devices[leaf].HoldersKnown
			for _, h := range node.Devices[leaf].Holders {
				if !slices.ContainsFunc(parent.Holders, func(o gpu.Holder) bool { return o.Container == h.Container }) {
					parent.Holders = append(parent.Holders, h)
				}
			}
		}
	}
}

// mpsServer begins the name of the process that works for MPS clients; its own type is that of any other.
const mpsServer = "nvidia-cuda-mps"

// replicas tells how the replicas of a device share it. The kubelet does not know; a process under MPS shows MPS, any
// other one time-slicing. What was once seen holds for as long as replicas are held.
func (d *domain) replicas(device *gpu.Device, processes []gpu.Process) gpu.Sharing {
	sharing := gpu.SharingReplicas
	if s := d.sharing[device.ID]; s != nil {
		s.generation = d.generation
		if s.sharing == gpu.SharingMPS {
			return s.sharing
		}
		sharing = s.sharing
	}
	for i := range processes {
		p := &processes[i]
		if p.DeviceID != device.ID {
			continue
		}
		switch {
		case p.Type == gpu.ProcessMPS, strings.HasPrefix(p.Executable, mpsServer):
			d.sharing[device.ID] = &seenSharing{gpu.SharingMPS, d.generation}
			return gpu.SharingMPS
		case p.Type == gpu.ProcessCompute, p.Type == gpu.ProcessComputeGraphics:
			sharing = gpu.SharingTimeSlicing
		}
	}
	if sharing != gpu.SharingReplicas {
		d.sharing[device.ID] = &seenSharing{sharing, d.generation}
	}
	return sharing
}

// seenSharing is how replicas of a device were seen to share it.
type seenSharing struct {
	sharing    gpu.Sharing
	generation uint64
}
