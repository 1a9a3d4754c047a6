// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package smidevice builds GPUs and their partitions from the devices that amd-smi and rocm-smi list, and keeps what both sources keep of
// them between reads: their ids, devices that are no longer listed, and their energy counters.
package smidevice
