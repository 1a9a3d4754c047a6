// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import "time"

// clientTable remembers the engine times of every client, to tell what was done since the last read, and that a client was
// counted.
type clientTable struct {
	now, last time.Time
	before    map[clientKey][numEngines]uint64
	current   map[clientKey][numEngines]uint64
}

// clientKey is a client: its number is one of the GPU's.
type clientKey struct {
	address string
	id      uint64
}

func (t *clientTable) begin(now time.Time) {
	t.now = now
	if t.current == nil {
		t.current = map[clientKey][numEngines]uint64{}
	}
	clear(t.current)
}

// end makes the current read the last one, unless it was given up half-way.
func (t *clientTable) end(givenUp bool) {
	if givenUp {
		t.before, t.last = nil, time.Time{}
		return
	}
	t.before, t.current = t.current, t.before
	t.last = t.now
}

// take returns, per engine, the share of the time since the last read, whether there was one, and whether the client was
// not counted before. A client that is new since has done all it did since.
func (t *clientTable) take(own owner, c *client) (shares [numEngines]float64, timed, fresh bool) {
	elapsed := t.now.Sub(t.last).Seconds()
	timed = t.before != nil && !t.last.IsZero() && elapsed > 0
	// A client without a number cannot be told from another; each open file then counts.
	if c.known {
		key := clientKey{own.address, c.id}
		if _, counted := t.current[key]; counted {
			return shares, timed, false
		}
		t.current[key] = c.engines
		if timed {
			before := t.before[key]
			for e, ns := range c.engines {
				if ns > before[e] {
					shares[e] = float64(ns-before[e]) / 1e9 / elapsed
				}
			}
		}
		return shares, timed, true
	}
	return shares, false, true
}
