// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package nvml reads NVIDIA GPUs through the driver's own library, libnvidia-ml.so.1.
//
// Nothing the driver does may hurt the collector. So a library is looked at before it is used; a function is looked up
// before it is called; what a device cannot do is asked once; and every call that may not come back is made by a
// goroutine of its own, of which a device has at most one. A device that does not answer is reported as it was last
// known, with its fault, and costs the others nothing.
//
// A source has a session from nvmlInit to nvmlShutdown. A session has a slot for each index under which NVML hands out a
// GPU; a slot finds the board that it is of by its UUID. Boards outlive sessions: they remember what the GPU can do, where
// its samples were read up to, and what it is. A crew of goroutines sweeps the slots, one goroutine as long as the driver
// answers quickly. A census then makes the node: of what was read, of what is known of GPUs that were not, and of what the
// PCI bus and the kernel's driver show of GPUs that NVML does not.
//
// Most calls go through NVIDIA's Go binding; those of lists and GPM go straight to the library (direct.go says why).
//
// The package needs cgo and Linux. Built without, its source says so in the node, and counts what the PCI bus shows.
package nvml
