// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package amdgpu reads AMD GPUs from the files that the amdgpu kernel driver publishes under /sys and /proc. It starts no
// process, loads no library and needs no ROCm.
//
// What the files mean is documented with the kernel (Documentation/gpu/amdgpu, Documentation/gpu/drm-usage-stats.rst,
// drivers/gpu/drm/amd/include/kgd_pp_interface.h). A file that a GPU does not have, or that its driver answers with "not
// supported", leaves its quantity absent. Any other failure does too, with a Problem.
//
// One GPU is one package: one PCI function with one unique_id. A package whose compute partition is not SPX has its
// partitions as devices besides (Device.Parent). A package of which no unique_id can be read has the ID "", a partition of
// one "/<n>" and no Parent; Process.DeviceID then is Info.PCIAddress, "/<n>" after it for a partition. Who knows the name
// of the machine completes them.
package amdgpu
