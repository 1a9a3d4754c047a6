// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package compare sets the values of a source beside those of a vendor's tool. Values move between two reads: ours are read before and
// after the tool's, which has to be between the two, within a tolerance.
//
//	quantities.go, properties.go   what is compared, with units and tolerances
//	compare.go                     rows, and what is said of each
package compare
