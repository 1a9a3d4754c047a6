// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package process completes the processes of a node with details from the process table of the machine: the start time, the
// executable and the owner.
//
// Drivers report process IDs of the first PID namespace of the machine. A process table of another namespace has other processes
// under the same IDs, so Reader refuses it.
package process
