// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import "math"

// floatOf returns nil if v is not a number: a quotient of absurd numbers.
func floatOf(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// intOf returns nil if v is not a whole number that a count, a number of lanes or a state could be.
func intOf(v float64) *int {
	if v < 0 || v > math.MaxInt32 || v != math.Trunc(v) {
		return nil
	}
	whole := int(v)
	return &whole
}
