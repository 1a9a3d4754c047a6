// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
)

// clientTimes remembers the engine times of every client, to find what was done since the last read, and counts each client once.
type clientTimes struct {
	now, last     time.Time
	before, after map[clientKey][numEngines]uint64 // ns; of the last read and of this one
}

// clientKey is a client: its number is unique on one GPU.
type clientKey struct {
	address string
	id      uint64
}

func (t *clientTimes) begin(now time.Time) {
	t.now = now
	t.after = map[clientKey][numEngines]uint64{}
}

// end makes this read the last one. A read that was given up is no basis for the next.
func (t *clientTimes) end(givenUp bool) {
	if givenUp {
		*t = clientTimes{}
		return
	}
	t.before, t.last, t.after = t.after, t.now, nil
}

// take returns the share of the time since the last read that each engine worked for a client, whether there was a last read, and
// whether this read has counted the client before. A client that is new did all it did since the last read.
func (t *clientTimes) take(own scan.Owner, c *client) (shares [numEngines]float64, timed, counted bool) {
	if !c.idKnown { // it cannot be told from another; each open file counts
		return shares, false, false
	}
	elapsed := t.now.Sub(t.last).Seconds()
	timed = t.before != nil && elapsed > 0
	key := clientKey{own.Address, c.id}
	if _, counted = t.after[key]; counted {
		return shares, timed, true
	}
	t.after[key] = c.engines
	if !timed {
		return shares, false, false
	}
	before := t.before[key]
	for e, ns := range c.engines {
		if ns > before[e] {
			shares[e] = float64(ns-before[e]) / 1e9 / elapsed
		}
	}
	return shares, true, false
}
