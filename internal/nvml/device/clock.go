// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import "time"

const (
	// earliestEpoch is the earliest time, in microseconds, that is taken for one since 1970: September 2001. Some drivers count the time
	// since the machine was booted instead, and as such it would be 31 years.
	earliestEpoch = 1_000_000_000_000_000
	// clockTolerance is by how much the driver's time may be ahead of ours without one of them having been set back.
	clockTolerance = 5 * time.Second
)

// micros is a time as the driver counts it.
func micros(t time.Time) uint64 { return uint64(max(t.UnixMicro(), 0)) }

// horizon is the latest time by the driver that is plausible when the machine's clock, from which the driver takes it, is at now. What is
// later was measured before the clock was set back. Times since boot are always earlier.
func horizon(now time.Time) uint64 { return max(earliestEpoch, micros(now.Add(clockTolerance))) }

// windowStart is the time from which samples are taken if no samples were seen before, in microseconds by the clock that now is of.
func windowStart(now uint64, window time.Duration) uint64 {
	if window <= 0 || window > firstWindow {
		window = firstWindow
	}
	return now - min(uint64(window.Microseconds()), now)
}

// firstWindow is how far back samples of processes are taken at the first read.
const firstWindow = 10 * time.Second
