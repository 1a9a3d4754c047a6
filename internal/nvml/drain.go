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
			ring := time.Duration(r.slot.board.Load().ring) * time.Microsecond
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
	// A read that comes meanwhile waits, and needs most of its time for itself.
	ctx, cancel := context.WithTimeout(s.closing, min(drainBudget, s.budget/4))
	defer cancel()
	var slots []*slot
	for _, sl := range s.session.slots {
		if sl.busy.CompareAndSwap(false, true) {
			slots = append(slots, sl)
		}
	}
	now, n, session := s.opts.now(), len(slots), s.session
	if session.busy.CompareAndSwap(false, true) {
		n++
	}
	begun, _ := s.crew.do(ctx, n, func(i int) {
		if i < len(slots) {
			slots[i].drain(now)
		} else {
			session.look(now)
		}
	})
	for i := begun; i < n; i++ {
		if i < len(slots) {
			slots[i].busy.Store(false)
		} else {
			session.busy.Store(false)
		}
	}
	s.scheduleDrain()
}
