// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/inventory"
)

// KnownGPUs keeps the GPUs of earlier reads in the node, failed, when a tool does not list them.
type KnownGPUs struct {
	tool   command.Tool
	gpus   inventory.Inventory[struct{}]
	absent []*inventory.Known[struct{}] // from the last list
	failed int                          // GPUs that the last list has, and that the driver cannot reach
	IDs    KnownIDs
}

// List puts the GPUs that a tool lists into a node. It returns the devices on which processes run, by the tool's number.
func (k *KnownGPUs) List(node *gpu.Node, listed []GPU) (leaves map[int]Leaf) {
	leaves = make(map[int]Leaf)
	visible := 0
	k.failed = 0
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
		if g.devices[0].State() == gpu.StateFailed {
			k.failed++
		} else {
			visible++
		}
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
		node.Presence[gpu.Missing] = gpu.Some(int64(len(k.absent) + k.failed))
	}
}

// AddUnlisted adds GPUs of earlier reads that an incomplete list lacks. They may have been cut off.
func (k *KnownGPUs) AddUnlisted(node *gpu.Node) {
	slices.SortFunc(k.absent, byAddress)
	for _, g := range k.absent {
		g.AddUnreadTo(node)
		node.Presence[gpu.Visible] = gpu.Opt[int64]{}
	}
}

// Unread adds every known GPU to an empty node, for a failure that says nothing about them. It reports whether there is one.
func (k *KnownGPUs) Unread(node *gpu.Node, failure *gpu.Failure) bool {
	all := k.gpus.All()
	slices.SortFunc(all, byAddress)
	for _, g := range all {
		g.AddUnreadTo(node)
	}
	node.Failure = failure
	return len(all) > 0
}

// NotListed completes a node for which the tool ended without a GPU that can be identified, and without a word of the driver. It returns
// the error if no GPU is known.
func (k *KnownGPUs) NotListed(node *gpu.Node, err error) (*gpu.Node, error) {
	reason := gpu.FailureToolFailed
	if errors.Is(err, smitext.ErrNotJSON) || errors.Is(err, smitext.ErrNoIdentity) {
		reason = gpu.FailureOutput
	}
	failure := &gpu.Failure{Reason: reason, Err: err}
	if !k.Unread(node, failure) {
		return nil, failure
	}
	node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemSource, What: string(k.tool), Err: err})
	return node, nil
}

// NotRun completes a node for which the tool could not be run or did not end. It returns the error if the machine could not be reached, or
// if the tool did not end and no GPU is known.
func (k *KnownGPUs) NotRun(node *gpu.Node, err error) (*gpu.Node, error) {
	switch {
	case errors.Is(err, command.ErrNotFound):
		k.Unread(node, &gpu.Failure{Reason: gpu.FailureToolMissing, Err: err})
	case errors.Is(err, command.ErrShortage):
		if !k.Unread(node, &gpu.Failure{Reason: gpu.FailureOther, Err: err}) {
			return nil, node.Failure
		}
	case TimedOut(err):
		if !k.Unread(node, &gpu.Failure{Reason: gpu.FailureTimeout, Err: err}) {
			return nil, node.Failure
		}
	default:
		return nil, err
	}
	node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemSource, What: string(k.tool), Err: err})
	return node, nil
}

// NoDevices completes a node for which the tool ended without a device. absent: the driver or its GPUs are known to be missing. Otherwise
// the collector lacks a permission.
func (k *KnownGPUs) NoDevices(node *gpu.Node, reason error, absent bool) *gpu.Node {
	if !absent {
		k.Unread(node, &gpu.Failure{Reason: gpu.FailurePermission, Err: reason})
		return node
	}
	clear(k.IDs)
	k.List(node, nil)
	k.AddLost(node)
	if errors.Is(reason, smitext.ErrNoDriver) {
		node.Failure = &gpu.Failure{Reason: gpu.FailureDriver, Err: reason}
	}
	return node
}

// NewKnownGPUs returns the known GPUs of a source that has read nothing, named after its tool.
func NewKnownGPUs(tool command.Tool) KnownGPUs {
	return KnownGPUs{tool: tool, IDs: make(KnownIDs)}
}

// TimedOut reports whether a tool did not end in time. That says nothing about a GPU: the tool may need longer than the timeout, and if the
// driver hangs, the tool does not show which GPU hangs.
func TimedOut(err error) bool {
	return errors.Is(err, command.ErrTimeout) || errors.Is(err, command.ErrBusy)
}

func byAddress(a, b *inventory.Known[struct{}]) int {
	return cmp.Or(cmp.Compare(a.Address(), b.Address()), cmp.Compare(a.ID(), b.ID()))
}
