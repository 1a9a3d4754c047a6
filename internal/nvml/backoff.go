// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import "time"

const (
	firstRetry = 30 * time.Second
	lastRetry  = 5 * time.Minute
)

// backoff spaces out attempts at opening the driver. The first failure is followed by an attempt at the next read.
type backoff struct {
	failures int
	notUntil time.Time
	hint     string // what the machine showed at the last failure
}

// due tells whether to try now. What the machine shows of the driver is a hint: when it changes, there is reason to try.
func (b *backoff) due(now time.Time, hint string) bool {
	return b.failures == 0 || hint != b.hint || !now.Before(b.notUntil)
}

func (b *backoff) failed(now time.Time, hint string) {
	var wait time.Duration
	if b.failures > 0 {
		wait = min(firstRetry<<min(b.failures-1, 8), lastRetry)
	}
	b.failures++
	b.notUntil = now.Add(wait)
	b.hint = hint
}

func (b *backoff) succeeded() { *b = backoff{} }
