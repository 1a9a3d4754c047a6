// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package smitext reads what amd-smi and rocm-smi print: quantities with and without units, converted to SI; names, serial numbers and
// unique ids; PCI addresses; JSON that may end in the middle; and the reasons for a missing answer.
package smitext
