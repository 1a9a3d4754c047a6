// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package processes

// The bounds of one read.
const (
	maxEntries   = 1 << 17 // of a directory with a file for each process
	maxProcesses = 1 << 14
	maxFiles     = 1 << 20 // open files of all processes
	maxDRMFiles  = 1 << 14 // of them, of DRM devices
	maxKFDFiles  = 1 << 14 // of one process
	maxProblems  = 32
)
