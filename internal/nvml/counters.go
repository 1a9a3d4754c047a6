// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import "math"

// wrapping makes a monotonic total of a counter that starts at 0 again when it is full.
type wrapping struct {
	last  uint64
	total uint64
	wide  bool // more than 32 bits were seen
	known bool
}

// add takes the counter's present value, of 32 bits or more, and returns the total.
//
// NVML says of some counters that they "can be wrapped" and not at what. A counter that never showed more than 32 bits and
// falls from the upper half of them has wrapped there; one that shows more wraps at 64 bits. Any other fall is a counter
// that started anew: the total then falls as well, and whoever records it starts a new series.
func (w *wrapping) add(v uint64, bits int) uint64 {
	w.wide = w.wide || v > math.MaxUint32
	switch {
	case !w.known:
		w.total = v
	case v >= w.last:
		w.total += v - w.last
	case (bits == 32 || !w.wide) && w.last > math.MaxUint32/2:
		w.total += v + (1<<32 - w.last)
	case w.wide && w.last > math.MaxUint64/2:
		w.total += v - w.last // modulo 2^64
	default:
		w.total = v
		w.wide = v > math.MaxUint32
	}
	w.last, w.known = v, true
	return w.total
}
