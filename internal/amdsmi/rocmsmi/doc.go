// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package rocmsmi reads AMD GPUs with rocm-smi, the command-line tool of ROCm 3 to 7. See package amdsmi for what both tools have in
// common.
//
// A read is one start of the tool with --json, and one without for what is in no JSON: the cards of processes and the RAS counts.
package rocmsmi
