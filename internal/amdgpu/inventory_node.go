// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/inventory"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

// physical is a GPU of the node: the device of the GPU and those of its partitions.
type physical struct {
	address string
	devices []gpu.Device
}

// fill fills the node with what the jobs of the read have left.
func (s *Source) fill(node *gpu.Node) {
	inv := s.scanner.last
	if !inv.DriverLoaded && len(inv.Cards) == 0 {
		node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemSource, What: "driver", Err: errNoDriver(s.cfg.RootPath)})
	}
	if err := s.scanner.problem; err != nil {
		node.Problems = append(node.Problems, gpu.Problem{What: "inventory", Err: err})
	}
	if inv.NodesErr != nil && len(inv.Cards) > 0 {
		node.Problems = append(node.Problems, gpu.Problem{What: "topology", Err: inv.NodesErr})
	}
	s.known.Begin(node.Time)
	gpus := s.unreadGPUs()
	node.Unread = len(gpus) > 0
	for _, r := range s.readers {
		if r.read() {
			gpus = append(gpus, s.readGPU(node, r))
			node.Unread = false
		}
	}
	gpus = append(gpus, s.lostGPUs()...)
	slices.SortFunc(gpus, func(a, b physical) int { return cmp.Compare(a.address, b.address) })

	var visible, absent []string
	index := 0
	for _, g := range gpus {
		if g.devices[0].State() == gpu.StateFailed {
			absent = append(absent, g.address)
		} else {
			visible = append(visible, g.address)
		}
		index = number(g.devices, index)
		node.Devices = append(node.Devices, g.devices...)
	}
	node.Presence = inventory.Count(visible, absent, inv.Functions, scan.DriverName)
	s.addProcesses(node)
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
		var devices []gpu.Device
		fault, message := s.unreadFault(r)
		if known := s.known.Find("", r.address); known != nil {
			s.known.Touch(known)
			devices = lastKnown(known, fault, message)
		} else {
			d := gpu.Device{Name: card.Name, Vendor: gpu.AMD, Info: gpu.Info{PCIAddress: r.address}}
			d.AddFault(fault, message)
			devices = []gpu.Device{d}
		}
		gpus = append(gpus, physical{r.address, devices})
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
	return physical{r.address, devices}
}

// lostGPUs returns the known GPUs that the scan has not found.
func (s *Source) lostGPUs() []physical {
	var gpus []physical
	absent, _ := s.known.End()
	for _, known := range absent {
		fault, message := s.lostFault(known.Address())
		gpus = append(gpus, physical{known.Address(), lastKnown(known, fault, message)})
	}
	return gpus
}

func lastKnown(known *inventory.Known[struct{}], fault gpu.FaultType, message string) []gpu.Device {
	var node gpu.Node
	known.AddTo(&node, fault, message)
	return node.Devices
}

// unreadFault returns why a GPU could not be read that the scan found.
func (s *Source) unreadFault(r *reader) (gpu.FaultType, string) {
	switch r.task.Outcome() {
	case workers.Hung:
		return gpu.FaultHung, "a read of the driver's files has not returned"
	case workers.NotBegun:
		return gpu.FaultUnreachable, "the time for the read was over before the GPU was read"
	default:
		return s.lostFault(r.address)
	}
}

// lostFault returns why a GPU cannot be found.
func (s *Source) lostFault(address string) (gpu.FaultType, string) {
	inv := s.scanner.last
	if _, onBus := inv.Functions.Find(address); inv.BusKnown && !onBus {
		return gpu.FaultLost, "it is not on the PCI bus any more"
	}
	if !inv.DriverLoaded {
		return gpu.FaultUnreachable, "the amdgpu driver is not loaded any more"
	}
	return gpu.FaultLost, "the amdgpu driver does not show it any more"
}

// number gives the devices of a GPU their indices: partitions one each, the GPU that of its first. It returns the next index.
func number(devices []gpu.Device, index int) int {
	devices[0].Index = gpu.Some(index)
	for i := range devices[1:] {
		devices[i+1].Index = gpu.Some(index + i)
	}
	return index + max(1, len(devices)-1)
}

func errNoDriver(root string) error {
	return fmt.Errorf("amdgpu: %s: the amdgpu driver is not loaded; where there are AMD GPUs, load it, and where the"+
		" collector runs in a container, mount the machine's /sys or set root_path", filepath.Join(root, "sys/module", scan.DriverName))
}
