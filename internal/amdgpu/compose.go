// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// remembered is what stays known of a GPU that cannot be read, and of its partitions.
type remembered struct {
	device     gpu.Device
	partitions []gpu.Device
}

// bare returns what identifies a device, without readings.
func bare(d *gpu.Device) gpu.Device {
	return gpu.Device{
		ID: d.ID, Name: d.Name, Model: d.Model, Vendor: d.Vendor, Parent: d.Parent, Partition: d.Partition, Epoch: d.Epoch,
		Info: d.Info, Aliases: d.Aliases,
	}
}

// compose makes the node of what the tasks of a round have left.
func (s *Source) compose(round uint64) {
	n := &s.node
	if !s.inv.loaded && len(s.inv.cards) == 0 {
		s.problem(gpu.ProblemSource, "", "driver", errNoDriver(s.cfg.RootPath))
	}
	if s.inv.nodesErr != nil && len(s.inv.cards) > 0 {
		s.problem(gpu.ProblemQuantity, "", "topology", s.inv.nodesErr)
	}
	s.settle(round)
	visible := make([]string, 0, len(s.boards))
	index := 0
	taken := make(map[string]string, len(s.boards))
	for _, b := range s.boards {
		first := len(n.Devices)
		s.place(b, round)
		d := &n.Devices[first]
		if other, clash := taken[d.ID]; clash && d.ID != "" {
			// Two GPUs must never become one, whatever their firmware says.
			s.problem(gpu.ProblemQuantity, b.address, "unique_id", fmt.Errorf("amdgpu: %s has the unique_id %s of %s", b.address, d.ID, other))
			anonymous(n.Devices[first:])
		} else {
			taken[d.ID] = b.address
		}
		if d.State() != gpu.StateFailed {
			visible = append(visible, b.address)
		}
		index = number(n.Devices[first:], index)
	}
	s.presence(visible)
	n.Unread = s.unread(round)
	if s.want.Has(gpu.GroupProcesses | gpu.GroupProcessUtilization) {
		s.processes(round)
	}
	for i := range n.Devices {
		d := &n.Devices[i]
		d.ProcessesUnread = !s.want.Has(gpu.GroupProcesses) || !s.procs.task.ended(round) || !s.kfd.task.ended(round) || s.inv.card(d.Info.PCIAddress) == nil
	}
}

// unread tells whether reads have not returned, and none that has brought a GPU's readings.
func (s *Source) unread(round uint64) bool {
	hung := false
	for _, b := range s.boards {
		if b.task.ended(round) && !b.out.gone {
			return false
		}
		hung = hung || s.hangs(b, round)
	}
	return hung
}

// hangs tells whether a read of a GPU that is there has not returned.
func (s *Source) hangs(b *board, round uint64) bool {
	return s.inv.card(b.address) != nil && !b.task.ended(round)
}

// settle takes note of what was read, and forgets GPUs that are now found at another address.
func (s *Source) settle(round uint64) {
	for _, b := range s.boards {
		if !b.task.ended(round) || b.out.gone {
			continue
		}
		b.seen = true
		b.last.device = bare(&b.out.device)
		b.last.partitions = b.last.partitions[:0]
		for i := range b.out.partitions {
			b.last.partitions = append(b.last.partitions, bare(&b.out.partitions[i]))
		}
	}
	s.boards = slices.DeleteFunc(s.boards, func(lost *board) bool {
		id := lost.last.device.ID
		if id == "" || s.inv.card(lost.address) != nil {
			return false
		}
		moved := slices.ContainsFunc(s.boards, func(b *board) bool {
			return b != lost && b.seen && b.last.device.ID == id && s.inv.card(b.address) != nil
		})
		if moved {
			lost.task.retire()
		}
		return moved
	})
}

// place adds the devices of a GPU to the node: as read, or as last known, with the reason why there is no more.
func (s *Source) place(b *board, round uint64) {
	n := &s.node
	there := s.inv.card(b.address) != nil
	if there && b.task.ended(round) && !b.out.gone {
		n.Devices = append(n.Devices, b.out.device)
		n.Devices = append(n.Devices, b.out.partitions...)
		for _, p := range b.out.problems.list {
			p.Device = cmp.Or(b.out.device.ID, b.address)
			n.Problems = append(n.Problems, p)
		}
		return
	}
	first := len(n.Devices)
	known := b.last.device
	if !b.seen {
		known = gpu.Device{Name: b.address, Vendor: gpu.AMD, Info: gpu.Info{PCIAddress: b.address}}
		if c := s.inv.card(b.address); c != nil {
			known.Name = c.name
		}
	}
	n.Devices = append(n.Devices, known)
	n.Devices = append(n.Devices, b.last.partitions...)
	fault, message := s.reason(b, round)
	for i := range n.Devices[first:] {
		// The faults of the last read are not those of this one.
		d := &n.Devices[first+i]
		d.Faults = nil
		d.AddFault(fault, message)
	}
}

// reason says why a GPU could not be read.
func (s *Source) reason(b *board, round uint64) (gpu.FaultType, string) {
	if s.hangs(b, round) {
		return gpu.FaultHung, "a read of the driver's files has not returned"
	}
	if _, bound := s.inv.bound(b.address); s.inv.busKnown && !bound {
		return gpu.FaultLost, "it is not on the PCI bus any more"
	}
	if !s.inv.loaded {
		return gpu.FaultUnreachable, "the amdgpu driver is not loaded any more"
	}
	return gpu.FaultLost, "the amdgpu driver does not show it any more"
}

// anonymous takes the ids off the devices of a GPU, which then goes by its PCI address.
func anonymous(devices []gpu.Device) {
	for i := range devices {
		devices[i].ID, devices[i].Parent = "", ""
	}
}

// number gives the devices of a GPU their indices: partitions one each, the GPU that of its first.
func number(devices []gpu.Device, index int) int {
	devices[0].Index = gpu.Some(index)
	for i := range devices[1:] {
		devices[i+1].Index = gpu.Some(index + i)
	}
	return index + max(1, len(devices)-1)
}

// presence counts the GPUs.
func (s *Source) presence(visible []string) {
	missing, unmanaged := 0, 0
	for _, f := range s.inv.functions {
		switch {
		case slices.Contains(visible, f.address):
		case s.inv.foreign(f.address):
			unmanaged++
		default:
			missing++
		}
	}
	for _, b := range s.boards {
		if _, there := s.inv.bound(b.address); !there && !slices.Contains(visible, b.address) {
			missing++
		}
	}
	p := &s.node.Presence
	p[gpu.Visible] = gpu.Some(int64(len(visible)))
	p[gpu.Missing] = gpu.Some(int64(missing))
	if s.inv.busKnown {
		p[gpu.Unmanaged] = gpu.Some(int64(unmanaged))
	}
}
