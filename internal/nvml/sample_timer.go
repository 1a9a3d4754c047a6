// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"context"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

const maxFetchBudget = time.Second // less where reads are to be quick

// samplePeriod is how often samples have to be fetched so that none is overwritten; 0: reading is often enough.
func samplePeriod(ring, interval time.Duration) time.Duration {
	const parts = 5 // the ring is fetched when three of five parts are new
	if ring <= 0 || interval <= 0 || interval < ring*(parts-1)/parts {
		return 0
	}
	return ring * (parts - 2) / parts
}

// startTimer has the driver's samples fetched before they are overwritten.
func (s *source) startTimer() {
	if s.driver.session == nil || !s.want.Has(gpu.GroupUtilization|gpu.GroupMediaUtilization|gpu.GroupProcessUtilization) {
		return
	}
	var shortest time.Duration
	for i := range s.outcomes {
		if o := &s.outcomes[i]; o.result != nil && o.handle.task.Outcome() == workers.Done {
			if ring := o.handle.gpu.Load().SampleRing(); ring > 0 && (shortest == 0 || ring < shortest) {
				shortest = ring
			}
		}
	}
	if period := samplePeriod(shortest, s.opts.interval); period > 0 {
		s.timer = time.AfterFunc(period, s.fetchSamples)
	}
}

func (s *source) stopTimer() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// fetchSamples fetches samples and events between two reads. During a read there is no need to.
func (s *source) fetchSamples() {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if s.closed || s.driver.session == nil || s.driver.pending != nil {
		return
	}
	// A read that comes meanwhile waits, and needs most of its time for itself.
	ctx, cancel := context.WithTimeout(s.closing, min(maxFetchBudget, s.budget/4))
	defer cancel()
	s.pool.Run(ctx, s.driver.session.jobs(s.opts.now(), (*handle).fetchSamples)...)
	s.startTimer()
}
