// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

// ProblemKind is the part of a read that a Problem concerns. Code decides by the kind, never by the text in Problem.What.
type ProblemKind uint8

// The kinds. The zero kind is the harmless one: the rest of the read is complete.
const (
	// ProblemQuantity: a quantity or a property of a device, or a part of a listing, is absent.
	ProblemQuantity ProblemKind = iota
	// ProblemSource: the driver, its library or the vendor's tool is missing, refused to work or did not answer. It says
	// nothing about a single GPU.
	ProblemSource
	// ProblemProcesses: the list of processes that use a device is unknown or incomplete; for all devices if Problem.Device is empty.
	ProblemProcesses
	// ProblemProcessTable: the machine's process table is unreadable or is not the machine's own, so start times, names
	// and control groups of processes are unknown.
	ProblemProcessTable
	// ProblemAllocations: the kubelet's allocations or the names of containers are unknown or incomplete.
	ProblemAllocations
	// ProblemKubernetes: the Kubernetes API does not answer, refuses, or lacks an object that a read needs.
	ProblemKubernetes
)

// Problem is something that could not be read. It is logged when it appears and counted for as long as it lasts.
type Problem struct {
	Kind   ProblemKind
	Device string // hw.id; empty for the whole node
	What   string // the quantity or step, for a person: "power", "processes"
	Err    error  // what was attempted, on what, and what to do
}
