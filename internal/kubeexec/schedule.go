// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/otelgpu/gpureceiver/internal/backoff"
)

// maxBackoff is the longest back-off of a failing node, unless the interval is longer.
const maxBackoff = 5 * time.Minute

// slots are the times at which a node is read: one in each interval, with a phase that depends on the node's name. It spreads the
// nodes of a cluster over the interval, and keeps the reads of a node equidistant also over a restart.
type slots struct {
	interval time.Duration
	phase    time.Duration
}

func newSlots(interval time.Duration, cluster, node string) slots {
	sum := sha256.Sum256([]byte(cluster + "\x00" + node)) // names that differ in one digit get phases far apart
	return slots{interval: interval, phase: time.Duration(binary.BigEndian.Uint64(sum[:]) % uint64(interval))}
}

// next returns the first slot after a time.
func (s slots) next(after time.Time) time.Time {
	passed := (time.Duration(after.UnixNano()%int64(s.interval)) - s.phase + s.interval) % s.interval
	return after.Add(s.interval - passed)
}

// pause returns the pause, beyond the usual slot, after a number of failures in a row: none after the first failure, then twice
// as long each time, with a random deviation of up to a quarter.
func pause(interval time.Duration, failures int) time.Duration {
	policy := backoff.Policy{First: interval, Max: max(interval, maxBackoff), Free: 1}
	return backoff.Jitter(policy.Wait(failures))
}
