// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// ledger keeps the totals of each container on each device: nobody else counts them.
type ledger struct {
	generation uint64
	meters     map[string]*meter
	accounts   map[accountKey]*account
}

type accountKey struct {
	device    string
	container identity
}

// meter is a device's energy counter, from which the energy of an interval is read.
type meter struct {
	generation uint64
	joules     float64
	epoch      uint64
	read       bool // joules was read in the last interval
	// joules that the device has used in this interval. known is false in the first one, and where the driver's counter
	// began anew.
	interval float64
	known    bool
}

// account is what is kept of one container on one device.
type account struct {
	generation uint64
	exclusive  bool // it had the device to itself
	energy     tally
	idle       tally
}

// tally is a total that is counted while what it needs is known; the next time it is, counting begins anew.
type tally struct {
	total float64
	since time.Time
}

func newLedger() ledger {
	return ledger{meters: make(map[string]*meter), accounts: make(map[accountKey]*account)}
}

// begin starts an interval's end.
func (l *ledger) begin() { l.generation++ }

// end forgets what was not seen in this interval.
func (l *ledger) end() {
	for key, m := range l.meters {
		if m.generation != l.generation {
			delete(l.meters, key)
		}
	}
	for key, a := range l.accounts {
		if a.generation != l.generation {
			delete(l.accounts, key)
		}
	}
}

// meter reads a device's energy counter.
func (l *ledger) meter(d *gpu.Device) *meter {
	m := l.meters[d.ID]
	if m == nil {
		m = &meter{}
		l.meters[d.ID] = m
	}
	m.generation = l.generation
	joules, ok := d.Energy.Get()
	m.known = ok && m.read && m.epoch == d.Epoch && joules >= m.joules
	m.interval = 0
	if m.known {
		m.interval = joules - m.joules
	}
	m.joules, m.epoch, m.read = joules, d.Epoch, ok
	return m
}

func (l *ledger) account(device string, container *gpu.Container) *account {
	key := accountKey{device: device, container: identityOf(container)}
	a := l.accounts[key]
	if a == nil {
		a = &account{}
		l.accounts[key] = a
	}
	a.generation = l.generation
	return a
}

// stop ends the counting.
func (t *tally) stop() { *t = tally{} }

// start begins to count anew. It is by the time of day, without the monotonic reading, that one time is after another where the
// clock was set back.
func (t *tally) start(now time.Time) { *t = tally{since: now.Round(0)} }

// running tells whether counting has begun by now. Where the clock was set back to before it did, it begins anew: no total may
// end before it starts.
func (t *tally) running(now time.Time) bool { return !t.since.IsZero() && !t.since.After(now) }

func (t *tally) counter() gpu.Counter[float64] {
	if t.since.IsZero() {
		return gpu.Counter[float64]{}
	}
	return gpu.TotalSince(t.total, t.since)
}

// charge adds a share of the interval's energy, if the interval was observed: what was used in one that was not is nobody's.
func (a *account) charge(m *meter, share gpu.Opt[float64], observed bool, since span) {
	fraction, ok := share.Get()
	switch {
	case !m.read || !ok:
		a.energy.stop()
	case !m.known || !a.energy.running(since.end):
		a.energy.start(since.end)
	case observed:
		a.energy.total += fraction * m.interval
	}
}

// rest adds the part of the interval in which nothing ran, if the interval was observed.
func (a *account) rest(busy gpu.Opt[float64], since span) {
	fraction, ok := busy.Get()
	switch {
	case !ok:
		a.idle.stop()
	case !a.idle.running(since.end):
		a.idle.start(since.end)
	case since.observed:
		a.idle.total += (1 - fraction) * since.length.Seconds()
	}
}
