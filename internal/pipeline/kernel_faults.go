// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kernellog"
)

const (
	// xidLost is the XID of a GPU that has fallen off the bus.
	xidLost = 79
	// maxRemembered bounds what is remembered by GPU, by its ports or by its blocks. A machine has 16 GPUs, and a GPU has some 20 blocks.
	maxRemembered = 4096
)

// kernelFaults converts the lines of the kernel's log other than XIDs to events. It is part of kernelXIDs, whose lock guards it.
//
// Two kinds of lines are held for a moment. A line that a ring did not complete its job waits for the line with the process. A line that a
// GPU has fallen off the bus waits for the XID 79, which says the same.
type kernelFaults struct {
	pending heldEvents
	lost    map[string]time.Time      // when an XID 79 was last reported, by hw.id of the GPU
	totals  map[rasCounter]int64      // what an older driver last had as the total
	resets  map[string]kernellog.Kind // the last line of a reset, by hw.id of the GPU
}

// rasCounter is a counter of hardware errors.
type rasCounter struct {
	gpu   string
	class gpu.ErrorClass
	block string
}

func newKernelFaults() kernelFaults {
	return kernelFaults{lost: map[string]time.Time{}, totals: map[rasCounter]int64{}, resets: map[string]kernellog.Kind{}}
}

// noteXID remembers an XID 79, and drops what is held of the same.
func (f *kernelFaults) noteXID(e *gpu.Event, now time.Time) {
	if e.XID != xidLost {
		return
	}
	remember(f.lost, gpuOf(e), now)
	f.pending = slices.DeleteFunc(f.pending, func(h heldEvent) bool { return h.event.Type == gpu.EventLost && h.event.DeviceID == gpuOf(e) })
}

// remember sets a value of a map that must not grow without bound.
func remember[K comparable, V any](m map[K]V, key K, value V) {
	if _, known := m[key]; known || len(m) < maxRemembered {
		m[key] = value
	}
}

// fromLog completes the event of a line of the log, and returns the events to send now.
func (f *kernelFaults) fromLog(message *kernellog.Event, e gpu.Event, now time.Time) []gpu.Event {
	if message.Kind == kernellog.KindRingProcess {
		return f.ringProcess(&e)
	}
	pass := f.release(e.DeviceID) // a line between the two: the process does not come any more
	e.Class, e.Part, e.Errors = message.Class, message.Part, message.Count
	switch message.Kind {
	case kernellog.KindFallenOffBus:
		e.Type = gpu.EventLost
		if last, ok := f.lost[e.DeviceID]; !ok || now.Sub(last) > sentPeriod {
			return append(pass, f.hold(e, now)...)
		}
		return pass
	case kernellog.KindRingTimeout:
		e.Type, e.Recovered = gpu.EventRingTimeout, message.Recovered
		if !e.Recovered {
			return append(pass, f.hold(e, now)...)
		}
	case kernellog.KindRAS:
		e.Type = gpu.EventRASError
		if message.Total {
			e.Errors = f.rise(rasCounter{e.DeviceID, e.Class, e.Part}, message.Count)
		}
	case kernellog.KindBadPages:
		e.Type = gpu.EventBadPages
	case kernellog.KindBadPageLimit:
		e.Type, e.Errors, e.Pages, e.AtLimit = gpu.EventBadPages, gpu.Opt[int64]{}, message.Count, true
	case kernellog.KindResetBegun, kernellog.KindResetSucceeded, kernellog.KindResetFailed:
		if message.Kind == kernellog.KindResetFailed && f.resets[e.DeviceID] == message.Kind {
			return pass // the second line of one failure
		}
		remember(f.resets, e.DeviceID, message.Kind)
		e.Type, e.Reset = gpu.EventReset, resetStates[message.Kind]
	case kernellog.KindPCIeError:
		e.Type, e.PCIAddress = gpu.EventPCIeError, message.Address
	case kernellog.KindSwitchError: // of the machine: which GPUs it concerns is not known
		e.Type, e.PCIAddress, e.Link, e.DeviceID, e.Name = gpu.EventSwitchError, message.Address, message.Link, "", message.Part
	default:
		return pass
	}
	return append(pass, e)
}

var resetStates = map[kernellog.Kind]gpu.ResetState{
	kernellog.KindResetBegun: gpu.ResetStarted, kernellog.KindResetSucceeded: gpu.ResetSucceeded, kernellog.KindResetFailed: gpu.ResetFailed,
}

// rise returns how many errors are new, by a total of the driver; absent for the first total, which may have old ones.
func (f *kernelFaults) rise(counter rasCounter, total gpu.Opt[int64]) gpu.Opt[int64] {
	now, ok := total.Get()
	if !ok {
		return gpu.Opt[int64]{}
	}
	last, known := f.totals[counter]
	remember(f.totals, counter, now)
	switch {
	case !known:
		return gpu.Opt[int64]{}
	case now < last: // the driver was loaded again
		return gpu.Some(now)
	default:
		return gpu.Some(now - last)
	}
}

// hold holds an event for a moment. The event passes immediately if too many are held.
func (f *kernelFaults) hold(e gpu.Event, now time.Time) []gpu.Event {
	if len(f.pending) == maxPaired {
		return []gpu.Event{e}
	}
	f.pending = append(f.pending, heldEvent{e, now.Add(holdPeriod)})
	return nil
}

// ringProcess returns the ring's event that waits for its process. The same line comes after other messages of the driver, which are not sent.
func (f *kernelFaults) ringProcess(message *gpu.Event) []gpu.Event {
	events := f.release(message.DeviceID)
	if n := len(events); n > 0 {
		events[n-1].Process = message.Process
	}
	return events
}

// release returns the ring's events of a GPU, which wait no longer.
func (f *kernelFaults) release(device string) (events []gpu.Event) {
	f.pending = slices.DeleteFunc(f.pending, func(h heldEvent) bool {
		match := h.event.Type == gpu.EventRingTimeout && h.event.DeviceID == device
		if match {
			events = append(events, h.event)
		}
		return match
	})
	return events
}
