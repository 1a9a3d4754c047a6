// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import "time"

const (
	// firstEpoch is the earliest time, in microseconds, that is taken for one since 1970: September 2001. As the time since
	// the machine was booted, which is what a driver may count instead, it would be 31 years.
	firstEpoch = 1_000_000_000_000_000
	// clockSlack is by how much the driver's time may be ahead of ours without one of them having been set back.
	clockSlack = 5 * time.Second
)

// micros is a time as the driver counts it.
func micros(t time.Time) uint64 { return uint64(max(t.UnixMicro(), 0)) }

// horizon is the latest time of the driver's that may have come when the machine's clock, from which the driver takes it, is at
// now. What is later was taken before the clock was set back. A time of another clock than that is always earlier.
func horizon(now time.Time) uint64 { return max(firstEpoch, micros(now.Add(clockSlack))) }

// windowStart is from where on samples are taken where none were seen before, in microseconds of the clock that now is of.
func windowStart(now uint64, window time.Duration) uint64 {
	if window <= 0 || window > firstWindow {
		window = firstWindow
	}
	return now - min(uint64(window.Microseconds()), now)
}
