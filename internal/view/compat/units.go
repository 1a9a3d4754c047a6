// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compat

import "math"

// mebibytes returns bytes in whole MiB, as the vendors' tools print them.
func mebibytes(bytes *float64) *int64 { return whole(bytes, 1.0/(1<<20)) }

// megahertz returns hertz in whole MHz.
func megahertz(hertz *float64) *int64 { return whole(hertz, 1e-6) }

// percent returns a share from 0 to 1 in percent.
func percent(share *float64) *float64 { return scaled(share, 100) }

// rounded returns a value with at most two decimals.
func rounded(value *float64) *float64 { return scaled(value, 1) }

func whole(value *float64, factor float64) *int64 {
	if value == nil {
		return nil
	}
	n := int64(math.Round(*value * factor))
	return &n
}

// scaled rounds to two decimals, so that what a driver reports in whole numbers stays a whole number: 0.29 * 100 is 28.999999999999996.
func scaled(value *float64, factor float64) *float64 {
	if value == nil {
		return nil
	}
	const decimals = 100
	v := math.Round(*value*factor*decimals) / decimals
	return &v
}
