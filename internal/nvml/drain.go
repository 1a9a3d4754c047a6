// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"context"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// drainPeriod is how often samples have to be fetched so that none is overwritten; 0: reading is often enough.
func drainPeriod(ring, interval time.Duration) time.Duration {
	const spare = 5 // the ring is fetched when three of five parts are new
	if ring <= 0 || interval <= 0 || interval < ring*(spare-1)/spare {
		return 0
	}
	return ring * (spare - 2) / spare
}

// scheduleDrain sees to it that the driver's samples are fetched before they are overwritten.
func (s *source) scheduleDrain() {
	if s.session == nil || !s.want.Has(gpu.GroupUtilization|gpu.GroupMediaUtilization|gpu.GroupProcessUtilization) {
		return
	}
	var shortest time.Duration
	for i := range s.results {
		if r := &s.results[i]; r.out != nil {
			ring := time.Duration(r.slot.board.Load().ring) * time.Microsecond //nolint:gosec // of a few seconds
			if ring > 0 && (shortest == 0 || ring < shortest) {
				shortest = ring
			}
		}
	}
	if period := drainPeriod(shortest, s.opts.interval); period > 0 {
		s.timer = time.AfterFunc(period, s.drain)
	}
}

func (s *source) stopDrain() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// drain fetches samples and events between two reads. While a read is on its way there is no need to.
func (s *source) drain() {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if s.closed || s.session == nil || s.pending != nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.closing, drainBudget)
	defer cancel()
	var slots []*slot
	for _, sl := range s.session.slots {
		if sl.busy.CompareAndSwap(false, true) {
			slots = append(slots, sl)
		}
	}
	now := s.opts.now()
	begun, _ := s.crew.do(ctx, len(slots), func(i int) { slots[i].drain(now) })
	for _, sl := range slots[begun:] {
		sl.busy.Store(false)
	}
	if ev := s.session.events; ev != nil && ev.busy.CompareAndSwap(false, true) {
		if begun, _ := s.crew.do(ctx, 1, func(int) { ev.drain(now) }); begun == 0 {
			ev.busy.Store(false)
		}
	}
	s.scheduleDrain()
}
