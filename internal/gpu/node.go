// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"slices"
	"time"
)

// Host identifies the machine of a Node. At least one of Name and NodeName is set before a Node is recorded.
type Host struct {
	Name        string            // host.name; empty for a node that is read without an agent
	NodeName    string            // k8s.node.name
	ClusterName string            // k8s.cluster.name
	Labels      map[string]string // further resource attributes, by their full names (configured node labels)
}

// Node is the result of one read: the GPUs of one vendor in one machine. It is valid until the next read of its source.
type Node struct {
	Host      Host
	Source    string // the key of the scraper that read it
	Vendor    Vendor
	Time      time.Time // when the read started
	Devices   []Device
	Processes []Process
	Presence  [NumPresences]Opt[int64] // number of physical GPUs, without partitions
	// OtherDriver is set if an unmanaged GPU is bound to a driver that does not reserve it for a virtual machine, such as nouveau: the
	// vendor's driver could read it.
	OtherDriver bool
	Problems    []Problem
	Events      []Event // newest last
	// EventsDropped is how many more there were since the last read than the source keeps.
	EventsDropped int

	// Failure is why the source could not be read; nil if it was read. The known GPUs stay in the node: Unread if the failure says nothing
	// about them, failed if it does, because the driver is missing or a call for them has not returned.
	Failure *Failure

	// RestartNeeded is why only a new collector process could read the driver: the library of the driver was replaced, and the old
	// one cannot be unloaded. Nil if no restart is needed.
	RestartNeeded error

	// Containers are the containers that hold or use devices. Attribution sets it. A container on two devices is in it twice.
	Containers []ContainerUse
}

// HasGPU reports whether the machine has a GPU that should be readable.
func (n *Node) HasGPU() bool {
	missing, _ := n.Presence[Missing].Get()
	return len(n.Devices) > 0 || missing > 0 || n.OtherDriver
}

// HasProblem reports whether a problem of this kind concerns the whole node.
func (n *Node) HasProblem(kind ProblemKind) bool { return n.hasProblem(kind, "") }

func (n *Node) hasProblem(kind ProblemKind, device string) bool {
	return slices.ContainsFunc(n.Problems, func(p Problem) bool { return p.Kind == kind && p.Device == device })
}

// ProcessesKnown reports whether Node.Processes has every process that uses the device. A nil device represents one that is no longer in
// the node: it has no processes, unless the processes of the whole node are unknown or the node could not be read.
func (n *Node) ProcessesKnown(d *Device) bool {
	switch {
	case n.HasProblem(ProblemProcesses):
		return false
	case d == nil:
		return n.Failure == nil
	default:
		return !d.ProcessesUnread && !n.hasProblem(ProblemProcesses, d.ID)
	}
}

// Presence is whether a physical GPU can be read (hw.gpu.presence).
type Presence uint8

// Visible: the source reads the GPU, or the driver lists it and requires its reset. Missing: the GPU cannot be read; it was seen before, or it
// is bound to the vendor's driver or to no driver. Unmanaged: the GPU is bound to another driver, such as vfio-pci.
const (
	Visible Presence = iota
	Missing
	Unmanaged
	NumPresences
)
