// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package nvml reads NVIDIA GPUs through the driver's own library, libnvidia-ml.so.1.
//
// Nothing the driver does may hurt the collector. So a library is looked at before it is used; a function is looked up
// before it is called; what a device cannot do is asked once; and every call that may not come back is made by a
// goroutine of its own, of which a device has at most one. A device that does not answer is reported as it was last
// known, with its fault, and costs the others nothing.
//
// The package needs cgo and Linux. Built without, its source says so in the node, and counts what the PCI bus shows.
package nvml
