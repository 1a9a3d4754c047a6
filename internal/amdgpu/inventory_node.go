// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/inventory"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

// physical is a GPU of the node: the device of the GPU and its partitions.
type physical struct {
	address string
	devices []gpu.Device
}

// fill fills the node with what the jobs of the read have left.
func (s *Source) fill(node *gpu.Node) {
	inv := s.scanner.last
	if !inv.DriverLoaded && len(inv.Cards) == 0 && inv.CardsErr == nil {
		node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemSource, What: "driver", Err: s.noDriver()})
	}
	if inv.CardsErr != nil {
		node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemSource, What: "DRM devices", Err: inv.CardsErr})
	}
	if err := s.scanner.problem; err != nil {
		node.Problems = append(node.Problems, gpu.Problem{What: "inventory", Err: err})
	}
	if inv.NodesErr != nil && len(inv.Cards) > 0 {
		node.Problems = append(node.Problems, gpu.Problem{What: "topology", Err: inv.NodesErr})
	}
	s.known.Begin(node.Time)
	gpus := s.unreadGPUs()
	for _, r := range s.readers {
		if r.read() {
			gpus = append(gpus, s.readGPU(node, r))
		}
	}
	gpus = append(gpus, s.lostGPUs()...)
	slices.SortFunc(gpus, func(a, b physical) int { return cmp.Compare(a.address, b.address) })

	var visible, absent []string
	index, current, unread := 0, 0, false
	for _, g := range gpus {
		switch whole := &g.devices[0]; {
		case whole.Unread:
			unread = true
		case whole.State() == gpu.StateFailed:
			absent = append(absent, g.address)
		default:
			visible = append(visible, g.address)
		}
		index = number(g.devices, index, func(d *gpu.Device, index int) { d.Index = gpu.Some(index) })
		if inv.Card(g.address) != nil {
			current = number(g.devices, current, func(d *gpu.Device, index int) { d.CurrentIndex = gpu.Some(index) })
		}
		node.Devices = append(node.Devices, g.devices...)
	}
	node.Presence = inventory.Count(visible, absent, inv.Functions, scan.DriverName)
	node.Failure = s.failure(node)
	unread = unread || inv.CardsErr != nil
	if unread && node.Failure != nil { // nothing is known of whether they can be read
		node.Presence[gpu.Visible] = gpu.Opt[int64]{}
	}
	if unread && !inv.BusKnown {
		node.Presence[gpu.Missing] = gpu.Opt[int64]{}
	}
	s.addProcesses(node)
}

// notRead returns the known GPUs, unread, for a failure that says nothing about them. It returns the error if there are no known GPUs.
func (s *Source) notRead(node *gpu.Node, err error) (*gpu.Node, error) {
	known := s.known.All()
	if len(known) == 0 {
		return nil, err
	}
	slices.SortFunc(known, func(a, b *inventory.Known[struct{}]) int { return cmp.Compare(a.Address(), b.Address()) })
	index := 0
	for _, k := range known {
		first := len(node.Devices)
		k.AddUnreadTo(node)
		index = number(node.Devices[first:], index, func(d *gpu.Device, index int) { d.Index = gpu.Some(index) })
	}
	node.Failure = gpu.FailureOf(err)
	node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemSource, What: "read", Err: err})
	return node, nil
}

// unreadGPUs returns the GPUs that the scan found and that could not be read, as they were last known. They come before those that
// were read: what is there keeps its ID.
func (s *Source) unreadGPUs() []physical {
	var gpus []physical
	for _, r := range s.readers {
		card := s.scanner.last.Card(r.address)
		if card == nil || r.read() {
			continue
		}
		known := s.known.Find("", r.address)
		if known == nil {
			known = &inventory.Known[struct{}]{Devices: []gpu.Device{
				{Name: card.Name, Vendor: gpu.AMD, Info: gpu.Info{PCIAddress: r.address}},
			}}
		} else {
			s.known.Touch(known)
		}
		var node gpu.Node
		switch r.task.Outcome() {
		case workers.NotBegun, workers.Late:
			known.AddUnreadTo(&node)
		case workers.Hung:
			known.AddTo(&node, gpu.FaultHung, errHung.Error())
		default:
			known.AddTo(&node, gpu.FaultLost, s.whyLost(r.address))
		}
		gpus = append(gpus, physical{r.address, node.Devices})
	}
	return gpus
}

// readGPU returns a GPU that was read, and adds its problems to the node.
func (s *Source) readGPU(node *gpu.Node, r *reader) physical {
	r.epoch = r.result.Device.Epoch
	id := r.result.Device.ID
	for _, p := range r.result.Problems {
		p.Device = cmp.Or(id, r.address)
		node.Problems = append(node.Problems, p)
	}
	devices := append([]gpu.Device{r.result.Device}, r.result.Partitions...)
	if _, err := s.known.Record(devices); err != nil {
		node.Problems = append(node.Problems, gpu.Problem{
			Device: r.address, What: "unique_id", Err: fmt.Errorf("amdgpu: %s: unique_id %s: %w", r.address, id, err),
		})
	}
	if r.result.Denied != nil {
		for i := range devices {
			devices[i] = inventory.Identity(&devices[i])
			devices[i].Unread = true
		}
	}
	return physical{r.address, devices}
}

// lostGPUs returns the known GPUs that the scan has not found. While the scan may not look at every DRM device, or the driver is not loaded,
// those on the PCI bus are unread.
func (s *Source) lostGPUs() []physical {
	var gpus []physical
	absent, _ := s.known.End()
	for _, known := range absent {
		var node gpu.Node
		if inv := s.scanner.last; (inv.CardsErr != nil || !inv.DriverLoaded) && !inv.LeftBus(known.Address()) {
			known.AddUnreadTo(&node)
		} else {
			known.AddTo(&node, gpu.FaultLost, s.whyLost(known.Address()))
		}
		gpus = append(gpus, physical{known.Address(), node.Devices})
	}
	return gpus
}

// whyLost returns why a GPU cannot be found.
func (s *Source) whyLost(address string) string {
	if s.scanner.last.LeftBus(address) {
		return "it is not on the PCI bus any more"
	}
	return "the amdgpu driver does not show it any more"
}

// number sets the indices of the devices of a GPU as rocm-smi and amd-smi count. They number the driver's GPUs in the order of their PCI
// addresses: each partition has an index, and the GPU has the index of its first partition. It returns the next index.
func number(devices []gpu.Device, index int, set func(d *gpu.Device, index int)) int {
	set(&devices[0], index)
	for i := range devices[1:] {
		set(&devices[i+1], index+i)
	}
	return index + max(1, len(devices)-1)
}
