// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package usage follows what containers and processes have of the devices of one node, from its beginning to its end, and adds up
// what each used meanwhile. Its events are the records from which a bill or an audit is made.
//
//	state.go        what is kept of each; State is what outlives the collector if it is stored
//	totals.go       how increases of counters and values of reads are added up
//	allocations.go  containers to which a device is allocated
//	processes.go    processes that use a device
//	tracker.go      one read: Tracker.Next
//
// The totals are those that attribution counts (gpu.ContainerUse), so that the records agree with the metrics.
package usage
