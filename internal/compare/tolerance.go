// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compare

// tolerance is how far a tool's value may be outside of ours: the larger of a number in the quantity's unit and a fraction of the value.
type tolerance struct{ absolute, relative float64 }

func (t tolerance) allowance(value float64) float64 { return max(t.absolute, t.relative*value) }

// The tolerances. docs/troubleshoot/doctor.md has them. A constant value may differ by what a tool rounds away; a changing value by its
// change in the moment between two reads, in addition to the difference of our two reads.
var (
	exact       = tolerance{relative: 1e-9}
	memory      = tolerance{absolute: 1 << 20}                 // tools print MiB
	usedMemory  = tolerance{absolute: 64 << 20, relative: .02} // bytes
	watts       = tolerance{absolute: 10, relative: .1}
	wattsLimit  = tolerance{absolute: 1}
	celsius     = tolerance{absolute: 3}
	limits      = tolerance{absolute: 1} // °C
	fraction    = tolerance{absolute: .1}
	hertz       = tolerance{absolute: 1e6, relative: .1}
	hertzLimit  = tolerance{absolute: 1e6}
	volts       = tolerance{absolute: .05, relative: .1}
	revolutions = tolerance{absolute: 200, relative: .1}
	countedMore = tolerance{absolute: 1, relative: .01} // totals that grow
	joules      = tolerance{absolute: 1000, relative: .01}
)
