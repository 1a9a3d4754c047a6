// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package amdsmi reads AMD GPUs with AMD's two command-line tools: rocm-smi (ROCm 3 to 7) and amd-smi (ROCm 5.7 and
// later). Both are Python programs over the same driver files, and neither promises a stable output, so that the two
// sources, ROCm and AMD, accept every dialect of which records exist, take what they recognise and leave the rest absent.
//
// What is not asked for is as deliberate as what is: xgmi_err is never read, since reading it clears it in the driver; the
// partition section of amd-smi 7 and later is left alone, since reading it wakes the GPU.
package amdsmi
