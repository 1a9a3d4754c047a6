// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"maps"
	"time"

	"github.com/otelgpu/gpureceiver/internal/cadence"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// totals keeps the energy, idle time and busy time of each container on each device, which no other component counts.
type totals struct {
	read       uint64 // number of the read
	meters     map[string]*energyMeter
	containers map[totalsKey]*containerTotals
}

type totalsKey struct {
	device    string
	container containerKey
}

// energyMeter is a device's energy counter, from which the energy of an interval is read. An interval is the time since the last read that
// had the counter.
type energyMeter struct {
	lastRead uint64
	joules   float64
	readTime time.Time // of the last read that had the counter
	since    time.Time // since when the driver counts, if that is known
	epoch    uint64
	known    bool             // this read has the counter
	observed bool             // the interval is short enough for what this read shows to count for all of it
	reset    time.Time        // when the driver's counter started again in this interval; zero if it did not
	energy   gpu.Opt[float64] // joules of this interval; absent in the first one, and if the driver was loaded again
}

// containerTotals is what is kept of one container on one device.
type containerTotals struct {
	lastRead uint64
	alone    bool // it had the device to itself since the last read that had the device's energy counter
	energy   total
	idle     total
	busy     total
}

func newTotals() totals {
	return totals{meters: make(map[string]*energyMeter), containers: make(map[totalsKey]*containerTotals)}
}

// begin starts a read.
func (t *totals) begin() { t.read++ }

// end forgets what this read did not have.
func (t *totals) end() {
	maps.DeleteFunc(t.meters, func(_ string, m *energyMeter) bool { return m.lastRead != t.read })
	maps.DeleteFunc(t.containers, func(_ totalsKey, c *containerTotals) bool { return c.lastRead != t.read })
}

// meter reads a device's energy counter. longest is how long an interval may be to count as observed.
func (t *totals) meter(d *gpu.Device, now time.Time, longest time.Duration) *energyMeter {
	m := t.meters[d.ID]
	if m == nil {
		m = &energyMeter{}
		t.meters[d.ID] = m
	}
	m.lastRead = t.read
	joules, ok := d.Energy.Get()
	m.known, m.reset, m.energy = ok, time.Time{}, gpu.Opt[float64]{}
	if !ok {
		return m
	}
	m.observed = now.Sub(m.readTime) <= longest
	switch since := d.Energy.Since(); {
	case m.readTime.IsZero(), m.epoch != d.Epoch:
	case since.Equal(m.since) && joules >= m.joules:
		m.energy = gpu.Some(joules - m.joules)
	case since.After(m.readTime):
		m.energy, m.reset = gpu.Some(joules-d.Energy.Base()), since
	}
	m.joules, m.readTime, m.since, m.epoch = joules, now, d.Energy.Since(), d.Epoch
	return m
}

// get returns the totals of a container on a device.
func (t *totals) get(device string, container *gpu.Container) *containerTotals {
	key := totalsKey{device: device, container: keyOf(container)}
	c := t.containers[key]
	if c == nil {
		c = &containerTotals{}
		t.containers[key] = c
	}
	c.lastRead = t.read
	return c
}

// addEnergy adds a share of the interval's energy. The energy of an interval that was not observed is not attributed. A read that does not
// have the device's counter adds nothing: the interval goes on.
func (c *containerTotals) addEnergy(m *energyMeter, share gpu.Opt[float64], observed bool, since cadence.Span) {
	fraction, ok := share.Get()
	joules, metered := m.energy.Get()
	switch {
	case !ok:
		c.energy.stop()
	case !m.known:
	case !metered || !c.energy.running(since.End):
		c.energy.start(since.End)
	default:
		if !m.reset.IsZero() {
			c.energy.start(m.reset)
		}
		if observed {
			c.energy.value += fraction * joules
		}
	}
}

// addTime divides the interval, if it was observed, into the part in which nothing ran and the other.
func (c *containerTotals) addTime(busy gpu.Opt[float64], since cadence.Span) {
	fraction, ok := busy.Get()
	switch {
	case !ok:
		c.idle.stop()
		c.busy.stop()
	case !c.idle.running(since.End):
		c.idle.start(since.End)
		c.busy.start(since.End)
	case since.Observed:
		c.idle.value += (1 - fraction) * since.Length.Seconds()
		c.busy.value += fraction * since.Length.Seconds()
	}
}

// total counts as long as its inputs are known. After a gap it starts again.
type total struct {
	value float64
	since time.Time
}

// stop ends the counting.
func (t *total) stop() { *t = total{} }

// start starts the count again. It drops the time's monotonic reading, so that the time of day decides which of two times is later:
// the clock may be set back.
func (t *total) start(now time.Time) { *t = total{since: now.Round(0)} }

// running reports whether counting has started by now. It starts again after the clock was set back to before its start, because no
// total may end before it starts.
func (t *total) running(now time.Time) bool { return !t.since.IsZero() && !t.since.After(now) }

func (t *total) counter() gpu.Counter[float64] {
	if t.since.IsZero() {
		return gpu.Counter[float64]{}
	}
	return gpu.TotalSince(t.value, t.since)
}
