// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package compare compares the values of a source with the values of a vendor's tool. Values change between two reads: ours are read before
// and after the tool's, which has to be between the two, within a tolerance.
//
//	quantities.go, properties.go   what is compared, with units and tolerances
//	compare.go                     rows, with the verdict on each
package compare
