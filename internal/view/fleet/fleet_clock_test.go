// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import "time"

// start is the start of the fleets of the tests.
var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// watch is a clock that a test moves.
type watch struct{ now time.Time }

// newTestFleet returns a fleet and its clock. Nothing runs in it: tests call sweep.
func newTestFleet(settings Settings) (*Fleet, *watch) {
	w := &watch{now: start}
	settings.Now = func() time.Time { return w.now }
	return New(settings), w
}

func (w *watch) pass(d time.Duration) { w.now = w.now.Add(d) }
