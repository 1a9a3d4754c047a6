// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package nvml reads NVIDIA GPUs through the driver's own library, libnvidia-ml.so.1.
//
// A driver must not hurt the collector. So the library is checked before it is used; a function is looked up before it is called; an unsupported
// call is made once per device; and calls that may not return are made by other goroutines, at most one for each device
// (internal/workers). A device that does not answer is reported as it was last known, with its fault, and costs the others nothing.
//
// The packages below are library, which calls NVML, and device, which reads one GPU. This package has the rest:
//
//   - driver.go opens and closes sessions, from nvmlInit to nvmlShutdown. session.go and handle.go are a session and the handles of its GPUs.
//   - known_gpus.go has the GPUs that were seen. They outlive sessions, and are found again by UUID.
//   - node.go builds the gpu.Node: from the GPUs that were read, known GPUs that were not (known_in_node.go), and unlisted GPUs
//     (unlisted_gpus.go), which only the PCI bus and the kernel's driver show.
//   - sleep.go closes NVML while all GPUs are idle and could sleep, and leaves GPUs alone that sleep.
//   - sample_timer.go decides when to fetch samples between reads, and events.go reads XIDs.
//
// The package needs cgo and Linux. Built without them, its source reports so in the node, and counts what the PCI bus shows.
package nvml
