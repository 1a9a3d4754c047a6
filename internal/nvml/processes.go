// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// slowestSamples is more than the longest time between two samples of the driver, which is from 1/6 s to 1 s.
const slowestSamples = 2 * time.Second

// firstWindow is how far back samples of processes are taken at the first read.
const firstWindow = 10 * time.Second

// listed is a process as a device lists it.
type listed struct {
	pid    uint32
	memory gpu.Opt[int64]
	kind   gpu.ProcessType
}

// roster is the processes of a device, each once.
type roster struct {
	all   []listed
	index map[uint32]int
}

func (r *roster) clear() {
	r.all = r.all[:0]
	clear(r.index)
}

// add adds an entry of a list; a process that is in several lists is one.
func (r *roster) add(p listed) {
	i, found := r.index[p.pid]
	if !found {
		if r.index == nil {
			r.index = map[uint32]int{}
		}
		r.index[p.pid] = len(r.all)
		r.all = append(r.all, p)
		return
	}
	q := &r.all[i]
	q.memory = q.memory.Or(p.memory)
	switch {
	case q.kind == gpu.ProcessMPS || p.kind == gpu.ProcessMPS:
		q.kind = gpu.ProcessMPS
	case q.kind != p.kind:
		q.kind = gpu.ProcessComputeGraphics
	}
}

// usage is one sample of what a process used of a GPU, in percent of the time since the sample before.
type usage struct {
	pid              uint32
	time             uint64 // microseconds since 1970
	sm, enc, decoder uint32
}

// usages collects the samples of a GPU's processes between two reads.
type usages struct {
	byPID  map[uint32]*used
	asked  uint64 // how often the driver was asked since the last read
	last   uint64 // time of the newest sample seen
	from   uint64 // where the present window begins: the driver's time at the read before
	clock  uint64 // the driver's time as seen elsewhere, so that a window may end after its last sample
	period uint64 // between two samples of one process in one answer; 0: an answer has one of each
	ended  time.Time
	now    time.Time // of the present read
	broken bool      // the machine's clock was set back in the present window: of it nothing can be told
}

type used struct {
	sm, enc, decoder, count uint64
	newest                  uint64
	answer                  uint64 // in which the newest sample was
}

// start leaves out, before the first add, what is older than the window before now, in microseconds of the driver's clock.
func (u *usages) start(now uint64, window time.Duration) {
	u.last = windowStart(now, window)
	u.from = u.last
}

// begin is start where nothing but a sample shows the driver's clock. Before the first read it may be of long ago, which is only seen
// where that clock is the machine's; later it is no older than the read before.
func (u *usages) begin(newest uint64, now time.Time, window time.Duration) {
	if u.ended.IsZero() && (newest < firstEpoch || newest < windowStart(micros(now), window)) {
		u.last, u.from = newest, newest
		return
	}
	u.start(newest, window)
}

// restart begins anew on a clock that was set back. What is newer than the newest sample seen would not come before the
// clock is there again, and every process would seem idle until then.
func (u *usages) restart(now time.Time, window time.Duration) {
	clear(u.byPID)
	*u = usages{byPID: u.byPID, ended: u.ended, broken: true}
	u.start(micros(now), window)
}

// add takes an answer of the driver: samples in any order, of which those newer than the newest seen count.
func (u *usages) add(samples []usage) {
	if u.byPID == nil {
		u.byPID = map[uint32]*used{}
	}
	u.asked++
	slices.SortFunc(samples, func(a, b usage) int { return cmp.Compare(a.time, b.time) })
	newest := u.last
	for _, s := range samples {
		if s.time <= u.last || s.sm > 100 || s.enc > 100 || s.decoder > 100 {
			continue
		}
		p := u.byPID[s.pid]
		if p == nil {
			p = &used{}
			u.byPID[s.pid] = p
		}
		if p.answer == u.asked && s.time > p.newest && (u.period == 0 || s.time-p.newest < u.period) {
			u.period = s.time - p.newest
		}
		p.sm, p.enc, p.decoder = p.sm+uint64(s.sm), p.enc+uint64(s.enc), p.decoder+uint64(s.decoder)
		p.count++
		p.newest, p.answer = s.time, u.asked
		newest = max(newest, s.time)
	}
	u.last = newest
}

// weight is by what the sum of a process's samples is divided, so that times without a sample count as idle ones.
//
// The driver has a sample for each process that used anything in the last sampling period: then an answer without one says
// that the process was idle. Or it has several, one for each period in which the process used anything.
func (u *usages) weight(p *used) float64 {
	n := float64(p.count)
	if u.period == 0 {
		return max(n, float64(u.asked))
	}
	until := max(u.last, u.clock)
	if u.from == 0 || until <= u.from {
		return n
	}
	span := until - u.from
	if elapsed := u.now.Sub(u.ended); !u.ended.IsZero() && elapsed >= 0 && span > uint64((elapsed+slowestSamples).Microseconds()) {
		span = uint64(elapsed.Microseconds()) // the clock was set forward
	}
	return max(n, float64(span)/float64(u.period))
}

// of returns what a process used since the last read. A process without a sample used nothing.
func (u *usages) of(pid uint32) (sm, enc, decoder float64) {
	p := u.byPID[pid]
	if p == nil || p.count == 0 {
		return 0, 0, 0
	}
	w := u.weight(p) * 100
	return float64(p.sm) / w, float64(p.enc) / w, float64(p.decoder) / w
}

// told tells whether the driver has taken samples in the present window: only then has a process without one used nothing.
func (u *usages) told() bool {
	switch {
	case u.broken:
		return false
	case max(u.last, u.clock) > u.from:
		return true
	case u.ended.IsZero() || u.now.Sub(u.ended) < slowestSamples:
		return false
	}
	// Long enough for samples to be taken, unless they are taken on a clock that has been set back to before the window.
	return u.from < firstEpoch || micros(u.now) >= u.from+uint64(slowestSamples.Microseconds())
}

// done ends the window. What was collected for processes that are not there any more goes with it.
func (u *usages) done() {
	clear(u.byPID)
	u.asked = 0
	u.from = max(u.last, u.clock)
	u.ended = u.now
	u.broken = false
}
