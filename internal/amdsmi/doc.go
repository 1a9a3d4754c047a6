// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package amdsmi reads AMD GPUs with amd-smi, the command-line tool of ROCm 5.7 and later. Its sibling rocmsmi reads them with rocm-smi
// (ROCm 3 to 7). Both tools are Python programs over the same driver files, and neither promises a stable output, so both sources accept
// every recorded dialect, take the values that they recognise and leave the rest absent.
//
// What both sources need is in smitext (numbers, names and ids as the tools print them) and smidevice (GPUs and partitions of what is
// listed, known GPUs, energy counters). smitest is for the tests of both.
//
// Two values are deliberately not read: xgmi_err, because reading it clears it in the driver, and the partition section of amd-smi 7 and
// later, because reading it wakes the GPU.
package amdsmi
