// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import "time"

// samplePeriod is how often samples have to be fetched so that the driver overwrites none; 0: reading is often enough. ring is how much time
// its samples cover.
func samplePeriod(ring, interval time.Duration) time.Duration {
	const parts = 5 // the ring is fetched when three of five parts are new
	if ring <= 0 || interval <= 0 || interval < ring*(parts-1)/parts {
		return 0
	}
	return ring * (parts - 2) / parts
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
