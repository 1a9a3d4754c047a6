// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/backoff"
)

// fallAsleepTime is how long idle GPUs are not read after NVML was closed for them to fall asleep. The driver takes some seconds.
const fallAsleepTime = 10 * time.Second

// sleepPolicy is for closing NVML again after the GPUs did not fall asleep.
var sleepPolicy = backoff.Policy{First: time.Minute, Max: time.Hour}

// sleep is how the GPUs of a machine fall asleep (runtime power management): an open NVML keeps them awake, and so does each read.
type sleep struct {
	closed time.Time       // when NVML was closed for the GPUs to fall asleep; zero: it was not, or that is over
	retry  backoff.Backoff // of closing it
}

// letSleep reports whether to use no GPU in a read: all are asleep, or about to fall asleep.
func (s *source) letSleep(now time.Time) bool {
	if s.bus.allAsleep() {
		s.sleep = sleep{}
		return true
	}
	if s.sleep.closed.IsZero() {
		return false
	}
	if age := now.Sub(s.sleep.closed); age >= 0 && age < fallAsleepTime && s.bus.allMaySleep() {
		return true
	}
	s.sleep.closed = time.Time{}
	s.sleep.retry.Failed(now, sleepPolicy)
	return false
}

// mayFallAsleep reports whether to close NVML after a read, because nothing else keeps a GPU awake.
func (s *source) mayFallAsleep(now time.Time) bool {
	return s.bus.allMaySleep() && s.sleep.retry.Due(now) && len(s.outcomes) > 0 &&
		!slices.ContainsFunc(s.outcomes, func(o outcome) bool { return o.result == nil || !o.result.Idle })
}

// maySleep reports whether a GPU can be suspended, so that it matters whether it is idle.
func (s *source) maySleep(address string) bool {
	return s.bus.maySleep(address) && canSuspend(s.opts.procRoot, address)
}

// awake returns the handles of the GPUs that are not asleep. NVML wakes a GPU when the handle of that GPU is requested or used.
func (s *source) awake() []*handle {
	handles := s.driver.session.handles
	return slices.DeleteFunc(slices.Clone(handles), func(h *handle) bool {
		if g := h.gpu.Load(); g != nil && g.Identity() != nil {
			return s.bus.asleep(g.address())
		}
		return s.bus.asleep(s.bus.address(h.index, len(handles)))
	})
}
