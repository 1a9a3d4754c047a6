// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package usage follows which containers hold and which processes use the devices of one node, from the start to the end of each use, and adds up
// what was used. Its events are the records from which a bill or an audit is made.
//
//	state.go        an allocation, a process, and State, which a restarted collector restores if it is stored
//	totals.go       how increases of counters and values of reads are added up
//	allocations.go  containers to which a device is allocated
//	processes.go    processes that use a device
//	tracker.go      one read: Tracker.Next
//
// The totals are those that attribution counts (gpu.ContainerUse), so that the records agree with the metrics.
package usage
