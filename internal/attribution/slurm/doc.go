// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package slurm reads which jobs of Slurm hold which GPUs of this machine: from a directory that the prolog and the epilog of Slurm keep
// (mapping.go), or from the device lists of control groups of version 1 (devices.go). The device program of version 2 and the
// environment of other users' processes need privileges, so neither is read.
package slurm

// Job is a job of Slurm. What is not known is empty.
type Job struct {
	ID        string
	User      string
	Account   string
	Partition string
}

// Allocations is what Slurm has allocated.
type Allocations struct {
	// Jobs are the IDs of the jobs that hold a device, by the device's name: its number, its ID (GPU-…, MIG-…) or the name of its device
	// node. A device without an entry is held by none.
	Jobs map[string][]string
	// Unknown are the names of devices whose holders could not be read.
	Unknown []string
	// Details are the jobs about which more than the ID is known, by their IDs.
	Details map[string]Job
}
