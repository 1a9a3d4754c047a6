// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import "github.com/otelgpu/gpureceiver/internal/nvml/library"

// ambiguous is what is known of a field that is a throttle time with some drivers and a setting of power smoothing with others: fields 251
// to 253 of drivers other than 575. nvml.h 13 has the settings there, and drivers that have the times are reported nevertheless. The answer
// counts as a time if it cannot be a setting: it has the type of a time, it is a second or more, and it grows. A setting is a percentage or
// a flag.
type ambiguous struct {
	candidate int // which of the field's candidates this is; 0: none
	seen      bool
	last      uint64
	proven    bool
}

// minTime is the least throttle time, in nanoseconds, that can prove itself one.
const minTime = 1_000_000_000

// isTime takes note of an answer, and reports whether the field is known to be a time.
func (a *ambiguous) isTime(kind uint32, v library.Value) bool {
	if kind != library.TypeUnsignedLongLong {
		return false
	}
	a.proven = a.proven || a.seen && a.last >= minTime && v.Unsigned > a.last
	a.seen, a.last = true, v.Unsigned
	return a.proven
}
