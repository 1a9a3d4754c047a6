// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package backoff spaces out attempts at something that keeps failing.
//
// The time between two attempts doubles up to a maximum. A caller with a reason to try earlier (a kernel module was loaded, a tool was
// replaced) does not call Due.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Policy is how long to wait after failures in a row.
type Policy = PolicyIn[time.Duration]

// PolicyIn is a Policy in another unit than time, such as reads.
type PolicyIn[Unit ~int | ~int64] struct {
	First Unit // the first wait
	Max   Unit // the longest
	Free  int  // so many failures at first cost no wait: the next attempt may follow immediately
}

// Wait returns the wait after so many failures in a row.
func (p PolicyIn[Unit]) Wait(failures int) Unit {
	if failures <= p.Free {
		return 0
	}
	wait := min(p.First, p.Max)
	for n := failures - p.Free; n > 1 && wait < p.Max; n-- {
		wait += min(wait, p.Max-wait)
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
