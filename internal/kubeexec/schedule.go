// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"time"
)

// maxBackoff is the longest that a node which fails is left alone, unless the interval is longer.
const maxBackoff = 5 * time.Minute

// slots are the times at which a node is read: one in each interval, at a place in it that the node's name gives. So the
// nodes of a cluster are spread over the interval, and each is read at even distances, also after a restart.
type slots struct {
	interval time.Duration
	phase    time.Duration
}

func newSlots(interval time.Duration, cluster, node string) slots {
	sum := sha256.Sum256([]byte(cluster + "\x00" + node)) // names that differ in a digit are to lie far apart
	return slots{interval: interval, phase: time.Duration(binary.BigEndian.Uint64(sum[:]) % uint64(interval))}
}

// next returns the first slot after a time.
func (s slots) next(after time.Time) time.Time {
	passed := (time.Duration(after.UnixNano()%int64(s.interval)) - s.phase + s.interval) % s.interval
	return after.Add(s.interval - passed)
}

// backoff returns how long a node is left alone, besides its usual slot, after so many failures in a row: not at all after
// the first, then twice as long each time, a quarter more or less by chance.
func backoff(interval time.Duration, failures int) time.Duration {
	if failures < 2 {
		return 0
	}
	longest := max(interval, maxBackoff)
	wait := longest
	if shift := failures - 2; shift < 16 && interval<<shift < longest {
		wait = interval << shift
	}
	return wait*3/4 + rand.N(wait/2+1) //nolint:gosec // chance, no secret
}
