// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// maxSeen bounds what is remembered of GPUs that are gone.
const maxSeen = 64

// seen remembers the GPUs of earlier reads, so that one that is no longer listed is reported and not forgotten.
type seen struct {
	tool command.Tool
	gpus map[string]sighting // by PCI address, else by ID
	ids  identities
}

type sighting struct {
	devices []gpu.Device // the GPU and its partitions: what identifies them, no readings
	last    time.Time
}

func newSeen(tool command.Tool) seen {
	return seen{tool: tool, gpus: make(map[string]sighting), ids: make(identities)}
}

// update notes the GPUs of a node and counts them. Where the tool's list is known to be complete, GPUs of earlier reads that
// are not in it are added to the node, failed; otherwise nothing can be said of them.
func (s *seen) update(node *gpu.Node, gpus int64, complete bool) {
	node.Presence[gpu.Visible] = gpu.Some(gpus)
	for i := range node.Devices {
		d := &node.Devices[i]
		key := cmp.Or(d.Info.PCIAddress, d.Parent, d.ID)
		g := s.gpus[key]
		if key == "" || g.devices == nil && len(s.gpus) == maxSeen {
			continue
		}
		if !g.last.Equal(node.Time) {
			g = sighting{last: node.Time}
		}
		g.devices = append(g.devices, gpu.Device{
			ID: d.ID, Name: d.Name, Model: d.Model, Vendor: d.Vendor, Parent: d.Parent, Partition: d.Partition, Index: d.Index,
			Info: d.Info, Aliases: d.Aliases,
		})
		s.gpus[key] = g
	}
	if complete {
		s.miss(node)
	}
}

// miss adds to a node what it lacks.
func (s *seen) miss(node *gpu.Node) {
	var lost []sighting
	for key, g := range s.gpus {
		switch {
		case g.last.Equal(node.Time):
		case listed(node, g.devices[0].ID):
			delete(s.gpus, key) // it sits in another slot now
		default:
			lost = append(lost, g)
		}
	}
	slices.SortFunc(lost, byAddress)
	for _, g := range lost {
		g.addTo(node, gpu.FaultLost, fmt.Sprintf("%s has not listed it since %s: removed, or lost by the driver; see the kernel's log",
			s.tool, g.last.UTC().Format(time.RFC3339)))
	}
	if len(node.Devices) > 0 { // the tool cannot tell whether there is one that it never saw
		node.Presence[gpu.Missing] = gpu.Some(int64(len(lost)))
	}
}

// away adds every GPU of earlier reads to a node that has none, with the fault that an error amounts to. It tells whether there
// is one.
func (s *seen) away(node *gpu.Node, fault gpu.FaultType, err error) bool {
	known := slices.SortedFunc(maps.Values(s.gpus), func(a, b sighting) int { return cmp.Or(b.last.Compare(a.last), byAddress(a, b)) })
	var missing int64
	for _, g := range known {
		if listed(node, g.devices[0].ID) {
			continue // it sat in another slot before
		}
		g.addTo(node, fault, err.Error())
		missing++
	}
	if missing == 0 {
		return false
	}
	node.Presence[gpu.Visible] = gpu.Some(int64(0))
	node.Presence[gpu.Missing] = gpu.Some(missing) // the tool cannot tell whether there is one that it never saw
	return true
}

// notRun completes a node for which the tool could not be run or did not end. The error is
// returned where it says nothing of the GPUs, or no GPU is known.
func (s *seen) notRun(node *gpu.Node, err error) (*gpu.Node, error) {
	fault := gpu.FaultUnreachable
	missing := errors.Is(err, command.ErrNotFound)
	switch {
	case missing:
	case hangs(err):
		fault = gpu.FaultHung
	default:
		return nil, err
	}
	if !s.away(node, fault, err) {
		if !missing {
			return nil, err
		}
		node.Presence[gpu.Visible] = gpu.Some(int64(0))
	}
	node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemSource, What: string(s.tool), Err: err})
	node.Unread = true
	return node, nil
}

// nothing completes a node for which the tool ended without a device.
func (s *seen) nothing(node *gpu.Node, why *idle) *gpu.Node {
	if why.absent {
		clear(s.ids)
	}
	if why.absent || !s.away(node, gpu.FaultUnreachable, why.reason) {
		s.update(node, 0, why.absent)
	}
	return node
}

// hangs tells whether a tool did not end: it waits for the driver, and the driver for a GPU.
func hangs(err error) bool {
	return errors.Is(err, command.ErrTimeout) || errors.Is(err, command.ErrBusy)
}

// addTo adds a GPU that a read does not show, and why.
func (g sighting) addTo(node *gpu.Node, fault gpu.FaultType, message string) {
	for _, d := range g.devices {
		d.ProcessesUnread = true
		d.AddFault(fault, message)
		node.Devices = append(node.Devices, d)
	}
}

func byAddress(a, b sighting) int {
	x, y := &a.devices[0], &b.devices[0]
	return cmp.Or(cmp.Compare(x.Info.PCIAddress, y.Info.PCIAddress), cmp.Compare(x.ID, y.ID))
}

// listed tells whether a node has a device of this ID.
func listed(node *gpu.Node, id string) bool {
	return id != "" && slices.ContainsFunc(node.Devices, func(d gpu.Device) bool { return d.ID == id })
}
