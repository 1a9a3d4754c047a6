// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

// MaxDevices bounds what is taken from one output. The largest machines have 16 GPUs of 8 partitions.
const MaxDevices = 512

// MaxProcesses bounds what is taken from one output.
const MaxProcesses = 16384

// MaxBlocks bounds the blocks of a device that count errors. There are some twenty.
const MaxBlocks = 64
