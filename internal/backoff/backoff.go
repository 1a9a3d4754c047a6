// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package backoff spaces out attempts at something that keeps failing.
//
// The time between two attempts doubles up to a maximum. Whoever has a reason to try earlier (a kernel module was loaded, a tool was
// replaced) does not ask Due.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Policy is how long to wait after failures in a row.
type Policy struct {
	First time.Duration // the first wait
	Max   time.Duration // the longest
	Free  int           // so many failures at first cost no wait: the next attempt may follow immediately
}

// Wait returns the wait after so many failures in a row.
func (p Policy) Wait(failures int) time.Duration {
	if failures <= p.Free {
		return 0
	}
	wait := min(p.First, p.Max)
	for range failures - p.Free - 1 {
		if wait >= p.Max/2 {
			return p.Max
		}
		wait *= 2
	}
	return wait
}

// Jitter returns a wait between three and five quarters of d, so that many clients that failed together do not return together.
func Jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1) //nolint:gosec // chance, no secret
}

// Backoff follows the attempts at one thing. The zero Backoff has seen no failure, and resets one that has.
type Backoff struct {
	failures int
	since    time.Time // of the last failure
	wait     time.Duration
}

// Due reports whether it is time for an attempt. A clock that was set back makes it due.
func (b *Backoff) Due(now time.Time) bool {
	passed := now.Sub(b.since)
	return passed >= b.wait || passed < 0
}

// Failed counts a failure.
func (b *Backoff) Failed(now time.Time, p Policy) {
	b.failures++
	b.since, b.wait = now, p.Wait(b.failures)
}

// Failures returns the number of failures since the last reset.
func (b *Backoff) Failures() int { return b.failures }
