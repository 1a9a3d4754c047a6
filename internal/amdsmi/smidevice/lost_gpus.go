// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/inventory"
)

// KnownGPUs keeps the GPUs of earlier reads in the node, failed, when a tool does not list them.
type KnownGPUs struct {
	tool   command.Tool
	gpus   inventory.Inventory[struct{}]
	absent []*inventory.Known[struct{}] // from the last list
	IDs    KnownIDs
}

// List puts the GPUs that a tool lists into a node. It returns the devices on which processes run, by the tool's number.
func (k *KnownGPUs) List(node *gpu.Node, listed []GPU) (leaves map[int]Leaf) {
	leaves = make(map[int]Leaf)
	visible := 0
	k.gpus.Begin(node.Time)
	for i := range listed {
		g := &listed[i]
		id := cmp.Or(g.devices[0].Parent, g.devices[0].ID)
		k.gpus.Complete(g.devices)
		_, err := k.gpus.Record(g.devices)
		if err != nil {
			node.Problems = append(node.Problems, gpu.Problem{Device: id, What: "identity", Err: fmt.Errorf("%s: %w", k.tool, err)})
		}
		if errors.Is(err, inventory.ErrListedTwice) {
			continue
		}
		visible++
		node.Devices = append(node.Devices, g.devices...)
		g.addLeaves(leaves)
	}
	k.absent, _ = k.gpus.End()
	node.Presence[gpu.Visible] = gpu.Some(int64(visible))
	return leaves
}

// AddLost adds GPUs of earlier reads that the list lacks, which must be complete.
func (k *KnownGPUs) AddLost(node *gpu.Node) {
	slices.SortFunc(k.absent, byAddress)
	for _, g := range k.absent {
		g.AddTo(node, gpu.FaultLost, fmt.Sprintf("%s has not listed it since %s: removed, or lost by the driver; see the kernel's log",
			k.tool, g.Seen.UTC().Format(time.RFC3339)))
	}
	if len(node.Devices) > 0 { // the tool cannot report GPUs that it never listed
		node.Presence[gpu.Missing] = gpu.Some(int64(len(k.absent)))
	}
}

// Unreadable adds every known GPU to a node that has none, with the fault that an error amounts to. It reports whether there is one.
func (k *KnownGPUs) Unreadable(node *gpu.Node, fault gpu.FaultType, err error) bool {
	all := k.gpus.All()
	slices.SortFunc(all, byAddress)
	for _, g := range all {
		g.AddTo(node, fault, err.Error())
	}
	if len(all) == 0 {
		return false
	}
	node.Presence[gpu.Visible] = gpu.Some(int64(0))
	node.Presence[gpu.Missing] = gpu.Some(int64(len(all))) // the tool cannot report GPUs that it never listed
	return true
}

// NotRun completes a node for which the tool could not be run or did not end. It returns the error where that says nothing of the
// GPUs, or no GPU is known.
func (k *KnownGPUs) NotRun(node *gpu.Node, err error) (*gpu.Node, error) {
	fault := gpu.FaultUnreachable
	missing := errors.Is(err, command.ErrNotFound)
	switch {
	case missing:
	case Hangs(err):
		fault = gpu.FaultHung
	default:
		return nil, err
	}
	if !k.Unreadable(node, fault, err) {
		if !missing {
			return nil, err
		}
		node.Presence[gpu.Visible] = gpu.Some(int64(0))
	}
	node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemSource, What: string(k.tool), Err: err})
	node.Unread = true
	return node, nil
}

// NoDevices completes a node for which the tool ended without a device. absent: the driver or its GPUs are known not to be there.
func (k *KnownGPUs) NoDevices(node *gpu.Node, reason error, absent bool) *gpu.Node {
	if absent {
		clear(k.IDs)
	}
	if !absent && k.Unreadable(node, gpu.FaultUnreachable, reason) {
		return node
	}
	k.List(node, nil)
	if absent {
		k.AddLost(node)
	}
	return node
}

// NewKnownGPUs returns the known GPUs of a source that has read nothing, named after its tool.
func NewKnownGPUs(tool command.Tool) KnownGPUs {
	return KnownGPUs{tool: tool, IDs: make(KnownIDs)}
}

// Hangs reports whether a tool did not end: it waits for the driver, and the driver for a GPU.
func Hangs(err error) bool {
	return errors.Is(err, command.ErrTimeout) || errors.Is(err, command.ErrBusy)
}

func byAddress(a, b *inventory.Known[struct{}]) int {
	return cmp.Or(cmp.Compare(a.Address(), b.Address()), cmp.Compare(a.ID(), b.ID()))
}
