// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import "time"

// samplePeriod is how often samples have to be fetched so that the driver overwrites none; 0: reading is often enough. ring is how much time
// its samples cover. A fetch takes a driver milliseconds, so there are as few as possible, at equal distances.
func samplePeriod(ring, interval time.Duration) time.Duration {
	ring = ring * 9 / 10 // a fetch may be late
	if ring <= 0 || interval <= ring {
		return 0
	}
	fetches := (interval + ring - 1) / ring // one of them is the read
	return interval / fetches
}

// sampleTimer has samples fetched between reads.
type sampleTimer struct{ timer *time.Timer }

// start fetches after a period; 0: never.
func (t *sampleTimer) start(period time.Duration, fetch func()) {
	if period > 0 {
		t.timer = time.AfterFunc(period, fetch)
	}
}

func (t *sampleTimer) stop() {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
}
