// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package view

import "time"

// Reader is what the API, the page and the compatible forms read. All methods are safe for concurrent use.
type Reader interface {
	// Snapshot returns what is known now.
	Snapshot() *Snapshot
	// Generation returns the generation of what is known now. It grows with each change.
	Generation() uint64
	// History returns the points of one metric of one GPU after a time. It reports whether there is a history of that GPU and metric.
	History(id, metric string, since time.Time) (History, bool)
	// HistoryFor returns how far back the history goes.
	HistoryFor() time.Duration
	// HistoryMetrics returns the metrics that have a history, by name.
	HistoryMetrics() []string
	// Usage returns what each workload has held and used since a time, in no order.
	Usage() (time.Time, []Usage)
	// Events returns the last events, the newest first.
	Events() []Event
	// Ended returns the last findings that ended, the one that ended last first.
	Ended() []Finding
	// Tiles returns what changed after a generation; all tiles if that is too long ago, or 0. Each has the value of a label of its node.
	Tiles(since uint64, label string) Tiles
	// Subscribe sends the generation after changes, at most one a second; a slow reader misses intermediate ones. The function ends it.
	Subscribe() (<-chan uint64, func())
}
