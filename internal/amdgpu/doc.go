// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package amdgpu reads AMD GPUs from the files that the amdgpu kernel driver publishes under /sys and /proc. It starts no
// process, loads no library and needs no ROCm.
//
// What the files mean is documented with the kernel (Documentation/gpu/amdgpu, Documentation/gpu/drm-usage-stats.rst,
// drivers/gpu/drm/amd/include/kgd_pp_interface.h). A file that a GPU does not have, or that its driver answers with "not
// supported", leaves its quantity absent. Any other failure does too, with a Problem.
//
// One GPU is one package: one PCI function with one unique_id. A package whose compute partition is not SPX also has its partitions as
// devices (Device.Parent, Device.Partition). If the unique_id of a package cannot be read, it and its partitions have no ID and no Parent,
// and processes name them by their gpu.Location; gpu.Node.CompleteIDs completes them.
//
// A read goes: scan (which GPUs there are; its parts side by side, in a third of the time), reconcile (a reader for each), the reads of
// the GPUs and of the processes side by side, and the node from what came back. Each of them may hang in the driver without holding up
// the rest (internal/workers).
package amdgpu
