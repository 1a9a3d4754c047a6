// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import "time"

// Vendor is a maker of GPUs, spelled as hw.vendor.
type Vendor string

// The vendors that the sources read.
const (
	NVIDIA Vendor = "NVIDIA"
	AMD    Vendor = "AMD"
)

// Host says which machine a Node is. At least one of Name and NodeName is set before a Node is recorded.
type Host struct {
	Name        string            // host.name; empty for a node that is read from outside
	NodeName    string            // k8s.node.name
	ClusterName string            // k8s.cluster.name
	Labels      map[string]string // further resource attributes, by their full names (allowed node labels)
}

// Node is one read of one vendor's GPUs of one machine. It is valid until its source is read again.
type Node struct {
	Host      Host
	Vendor    Vendor
	Time      time.Time // when the read began
	Devices   []Device
	Processes []Process
	Presence  [NumPresences]Opt[int64] // physical GPUs; partitions do not count
	Problems  []Problem
	Events    []Event // newest last

	// Unread tells that nothing was read: no call of the driver, or no tool, has come back, or there is no tool. GPUs that are known
	// are in the node all the same, failed. That there is no driver is an answer.
	Unread bool

	// RestartNeeded says why this process cannot read the driver any more whatever it tries, and a new one could: the
	// driver's library was replaced, and the old one cannot be unloaded. Nil as long as there is no such reason.
	RestartNeeded error

	// Containers is who holds and who uses which device; attribution fills it in. A container on two devices is in it twice.
	Containers []ContainerUse
}

// Presence is how much of a physical GPU can be seen.
type Presence uint8

// Visible: the source reads it. Missing: bound to the vendor's driver or to nothing, or seen before, yet not readable.
// Unmanaged: bound to another driver, such as vfio-pci.
const (
	Visible Presence = iota
	Missing
	Unmanaged
	NumPresences
)
