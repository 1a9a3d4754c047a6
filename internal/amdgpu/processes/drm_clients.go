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
	before, after map[clientKey]clientTime // of the last read and of this one
	blockedPIDs   map[int64]bool           // processes that the last read left out
}

// clientTime is how long the engines had worked for a client at some time.
type clientTime struct {
	engines  [numEngines]uint64 // ns
	readTime time.Time
}

// clientKey is a client: its number is unique on one GPU.
type clientKey struct {
	address string
	id      uint64
}

func (t *clientTimes) begin(now time.Time) {
	t.now = now
	t.after = map[clientKey]clientTime{}
}

// end makes this read the last one, which left out some processes. A read that was given up is no basis for the next.
func (t *clientTimes) end(givenUp bool, blockedPIDs []int64) {
	if givenUp {
		*t = clientTimes{}
		return
	}
	t.blockedPIDs = make(map[int64]bool, len(blockedPIDs))
	for _, pid := range blockedPIDs {
		t.blockedPIDs[pid] = true
	}
	for key, known := range t.before { // it may belong to a process that was left out
		if _, ok := t.after[key]; !ok && len(blockedPIDs) > 0 && len(t.after) < maxDRMFiles {
			t.after[key] = known
		}
	}
	t.before, t.last, t.after = t.after, t.now, nil
}

// take returns the share of the time since the last read that each engine worked for a client, whether there was a last read, and
// whether this read has counted the client before. A client that is new did all it did since the last read, unless that left its process out.
func (t *clientTimes) take(pid int64, own scan.Owner, c *client) (shares [numEngines]float64, timed, counted bool) {
	if !c.idKnown { // nothing distinguishes it from another one; each open file counts
		return shares, false, false
	}
	key := clientKey{own.Address, c.id}
	before, known := t.before[key]
	if !known {
		before.readTime = t.last
	}
	elapsed := t.now.Sub(before.readTime).Seconds()
	timed = t.before != nil && elapsed > 0 && (known || !t.blockedPIDs[pid])
	if _, counted = t.after[key]; counted {
		return shares, timed, true
	}
	t.after[key] = clientTime{c.engines, t.now}
	if !timed {
		return shares, false, false
	}
	for e, ns := range c.engines {
		if ns > before.engines[e] {
			shares[e] = float64(ns-before.engines[e]) / 1e9 / elapsed
		}
	}
	return shares, true, false
}
