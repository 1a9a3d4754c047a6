// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// slowestSamples is more than the longest time between two samples of the driver, which is from 1/6 s to 1 s.
const slowestSamples = 2 * time.Second

// processUtilization collects the samples of what a GPU's processes used between two reads.
type processUtilization struct {
	byPID       map[uint32]*processSum
	calls       uint64 // of the driver since the last read
	last        uint64 // time of the newest sample seen
	windowStart uint64 // of the current window: the driver's time at the read before
	clock       uint64 // the driver's time by the samples of engines, so that a window may end after its last sample
	period      uint64 // between two samples of one process in one answer; 0: an answer has one of each
	ended       time.Time
	now         time.Time // of the present read
	broken      bool      // the machine's clock was set back in the present window, so it has no result
}

// processSum is the sum of a process's samples, in percent.
type processSum struct {
	sm, memory, encoder, decoder, count uint64

	noMemory bool   // a sample lacked the memory's share
	newest   uint64 // time of the newest sample
	call     uint64 // that returned the newest sample
}

// processUse is what a process used of a GPU, as fractions of time.
type processUse struct {
	sm, encoder, decoder float64
	memory               gpu.Opt[float64] // memory controller
}

// start leaves out, before the first add, what is older than the window before now, in microseconds of the driver's clock.
func (u *processUtilization) start(now uint64, window time.Duration) {
	u.last = windowStart(now, window)
	u.windowStart = u.last
}

// startAt is start if only a sample shows the driver's clock. Before the first read the sample may be old, which is visible only if that
// clock is the machine's. Later it is no older than the last read.
func (u *processUtilization) startAt(newest uint64, now time.Time, window time.Duration) {
	if u.ended.IsZero() && (newest < earliestEpoch || newest < windowStart(micros(now), window)) {
		u.last, u.windowStart = newest, newest
		return
	}
	u.start(newest, window)
}

// restart starts again on a clock that was set back. Otherwise no sample would be newer than the newest seen until the clock is there
// again, and every process would seem idle.
func (u *processUtilization) restart(now time.Time, window time.Duration) {
	*u = processUtilization{ended: u.ended, broken: true}
	u.start(micros(now), window)
}

// add adds the samples of one call, which are in any order. Those newer than the newest seen count.
func (u *processUtilization) add(samples []library.ProcessSample) {
	if u.byPID == nil {
		u.byPID = map[uint32]*processSum{}
	}
	u.calls++
	slices.SortFunc(samples, func(a, b library.ProcessSample) int { return cmp.Compare(a.Time, b.Time) })
	newest := u.last
	for _, s := range samples {
		if s.Time <= u.last || s.SM > 100 || s.Encoder > 100 || s.Decoder > 100 {
			continue
		}
		p := u.byPID[s.PID]
		if p == nil {
			p = &processSum{}
			u.byPID[s.PID] = p
		}
		if p.call == u.calls && s.Time > p.newest && (u.period == 0 || s.Time-p.newest < u.period) {
			u.period = s.Time - p.newest
		}
		p.sm, p.encoder, p.decoder = p.sm+uint64(s.SM), p.encoder+uint64(s.Encoder), p.decoder+uint64(s.Decoder)
		p.memory += uint64(s.Memory)
		p.noMemory = p.noMemory || s.Memory > 100
		p.count++
		p.newest, p.call = s.Time, u.calls
		newest = max(newest, s.Time)
	}
	u.last = newest
}

// weight is the divisor of the sum of a process's samples. It counts times without a sample as idle.
//
// Some drivers return one sample for each process that used anything in the last sampling period: then a call without one means that the
// process was idle. Others return several, one for each period in which the process used anything.
func (u *processUtilization) weight(p *processSum) float64 {
	n := float64(p.count)
	if u.period == 0 {
		return max(n, float64(u.calls))
	}
	until := max(u.last, u.clock)
	if u.windowStart == 0 || until <= u.windowStart {
		return n
	}
	span := until - u.windowStart
	if elapsed := u.now.Sub(u.ended); !u.ended.IsZero() && elapsed >= 0 && span > uint64((elapsed+slowestSamples).Microseconds()) {
		span = uint64(elapsed.Microseconds()) // the clock was set forward
	}
	return max(n, float64(span)/float64(u.period))
}

// usage returns what a process used since the last read. A process without a sample used nothing.
func (u *processUtilization) usage(pid uint32) processUse {
	p := u.byPID[pid]
	if p == nil || p.count == 0 {
		return processUse{memory: gpu.Some(0.0)}
	}
	w := u.weight(p) * 100
	use := processUse{sm: float64(p.sm) / w, encoder: float64(p.encoder) / w, decoder: float64(p.decoder) / w}
	if !p.noMemory {
		use.memory = gpu.Some(float64(p.memory) / w)
	}
	return use
}

// mediaUsed reports whether some process used the encoder and the decoder since the last read. Otherwise nothing is known of them: NVML returns 0 for an
// engine of which the driver has no sample, also if the GPU does not have the engine. nvidia-smi then prints a dash.
func (u *processUtilization) mediaUsed() (encoder, decoder bool) {
	for _, p := range u.byPID {
		encoder, decoder = encoder || p.encoder > 0, decoder || p.decoder > 0
	}
	return encoder, decoder
}

// complete reports whether the driver has taken samples in the present window: only then has a process without one used nothing.
func (u *processUtilization) complete() bool {
	switch {
	case u.broken:
		return false
	case max(u.last, u.clock) > u.windowStart:
		return true
	case u.ended.IsZero() || u.now.Sub(u.ended) < slowestSamples:
		return false
	}
	// That is long enough for samples, unless the clock has been set back to before the window.
	return u.windowStart < earliestEpoch || micros(u.now) >= u.windowStart+uint64(slowestSamples.Microseconds())
}

// end ends the window.
func (u *processUtilization) end() {
	u.byPID = nil
	u.calls = 0
	u.windowStart = max(u.last, u.clock)
	u.ended = u.now
	u.broken = false
}

var getProcessUtilization = library.NewFunction("utilization by process", "nvmlDeviceGetProcessUtilization")

// processSamples reads what each process used of a GPU since the last read, from the samples of the driver.
type processSamples struct {
	list  library.ProcessSampleList
	usage processUtilization
}

// restart forgets the time of the driver's clock.
func (p *processSamples) restart() { p.usage = processUtilization{} }

// fetch reads the samples that the driver took since the last fetch. clock is the driver's time by the samples of the engines; 0: not known.
func (p *processSamples) fetch(dev *device, clock uint64) {
	if !dev.Can(getProcessUtilization) {
		return
	}
	u := &p.usage
	switch {
	case u.last == 0 && clock != 0:
		u.start(clock, dev.cfg.Interval)
	case dev.future(u.last):
		u.restart(dev.readTime, dev.cfg.Interval)
	}
	samples, ok := p.read(dev)
	if newest := newestOf(samples); ok && u.last == 0 && newest > 0 {
		u.startAt(newest, dev.readTime, dev.cfg.Interval)
		samples, ok = p.read(dev)
	}
	if !ok {
		return
	}
	// Of samples from before the machine's clock was set back some are missing, whatever part of them belongs here.
	valid := slices.DeleteFunc(samples, func(s library.ProcessSample) bool { return dev.future(s.Time) })
	u.broken = u.broken || len(valid) < len(samples)
	u.add(valid)
}

// read reads the samples. false: it is not known whether there are any.
func (p *processSamples) read(dev *device) ([]library.ProcessSample, bool) {
	samples, code := p.list.Read(dev.handle, getProcessUtilization, p.usage.last)
	return samples, dev.OK(getProcessUtilization, code) || code.Answer() == library.NoValue
}

func newestOf(samples []library.ProcessSample) (newest uint64) {
	for i := range samples {
		newest = max(newest, samples[i].Time)
	}
	return newest
}

// set sets what each process used since the last read, if that is known, and starts the next window.
func (p *processSamples) set(dev *device, clock uint64, processes []gpu.Process) {
	u := &p.usage
	u.clock, u.now = clock, dev.readTime
	if dev.cfg.Want.Has(gpu.GroupProcessUtilization) && dev.Supported(getProcessUtilization) &&
		!dev.Failing(getProcessUtilization) && !dev.mig && u.complete() {
		encoder, decoder := u.mediaUsed()
		for i := range processes {
			p, use := &processes[i], u.usage(uint32(processes[i].PID))
			p.Utilization[gpu.TaskGeneral] = gpu.Some(use.sm)
			p.Utilization[gpu.TaskEncoder] = known(use.encoder, encoder)
			p.Utilization[gpu.TaskDecoder] = known(use.decoder, decoder)
			p.MemoryController = use.memory
		}
	}
	u.end()
}
