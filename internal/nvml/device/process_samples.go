// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

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
		u.restart(dev.at, dev.cfg.Interval)
	}
	samples, ok := p.read(dev)
	if newest := newestOf(samples); ok && u.last == 0 && newest > 0 {
		u.startAt(newest, dev.at, dev.cfg.Interval)
		samples, ok = p.read(dev)
	}
	if !ok {
		return
	}
	// Of samples from before the machine's clock was set back some are missing, whatever part of them belongs here.
	kept := slices.DeleteFunc(samples, func(s library.ProcessSample) bool { return dev.future(s.Time) })
	u.broken = u.broken || len(kept) < len(samples)
	u.add(kept)
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
	u.clock, u.now = clock, dev.at
	if dev.cfg.Want.Has(gpu.GroupProcessUtilization) && dev.Supported(getProcessUtilization) &&
		!dev.Failing(getProcessUtilization) && !dev.mig && u.complete() {
		encoder, decoder := u.mediaUsed()
		for i := range processes {
			p, use := &processes[i], u.of(uint32(processes[i].PID))
			p.Utilization[gpu.TaskGeneral] = gpu.Some(use.sm)
			p.Utilization[gpu.TaskEncoder] = known(use.encoder, encoder)
			p.Utilization[gpu.TaskDecoder] = known(use.decoder, decoder)
			p.MemoryController = use.memory
		}
	}
	u.end()
}
