// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package smidevice makes GPUs and their partitions of the devices that amd-smi and rocm-smi list, and keeps what both sources keep of
// them between reads: their ids, those that are no longer listed, and their energy counters.
package smidevice
