// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"slices"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// engine is a part of the GPU of whose work the driver keeps samples.
type engine int

const (
	engineGeneral engine = iota
	engineMemory
	engineEncoder
	engineDecoder
	engineJPEG
	engineOFA
	numEngines
)

var engines = [numEngines]struct {
	samples function
	group   gpu.Group
	task    gpu.Task
	now     function // the instantaneous value
}{
	engineGeneral: {fnSamplesGeneral, gpu.GroupUtilization, gpu.TaskGeneral, fnUtilization},
	engineMemory:  {fnSamplesMemory, gpu.GroupUtilization, gpu.NumTasks, fnUtilization},
	engineEncoder: {fnSamplesEncoder, gpu.GroupMediaUtilization, gpu.TaskEncoder, fnEncoder},
	engineDecoder: {fnSamplesDecoder, gpu.GroupMediaUtilization, gpu.TaskDecoder, fnDecoder},
	engineJPEG:    {fnSamplesJPEG, gpu.GroupMediaUtilization, gpu.TaskJPEG, fnJPEG},
	engineOFA:     {fnSamplesOFA, gpu.GroupMediaUtilization, gpu.TaskOpticalFlow, fnOFA},
}

// drain fetches the samples that the driver took since they were last fetched.
func (b *board) drain(e engine) {
	spec, m := &engines[e], &b.samples[e]
	if b.future(m.last) {
		m.last = windowStart(micros(b.at), b.src.opts.interval)
		b.ahead[spec.samples] = false // it was asked what is newer than what is yet to come
	}
	if !b.can(spec.samples) {
		return
	}
	samples, kind, ret := b.sampleList(e, m.last)
	if !b.ok(spec.samples, ret) {
		return
	}
	samples = b.past(samples)
	if m.last == 0 {
		// The first time the whole ring is there. What is older than a reading interval is not of interest.
		b.ring = span(samples)
		m.start(samples, b.at, b.src.opts.interval)
	}
	m.add(samples, kind)
	b.batch.of(spec.samples).from(m.last)
}

// past leaves out the samples that were taken before the machine's clock was set back.
func (b *board) past(samples []sample) []sample {
	var newest uint64
	for i := range samples {
		newest = max(newest, samples[i].time)
	}
	if !b.future(newest) {
		return samples
	}
	return slices.DeleteFunc(samples, func(s sample) bool { return b.future(s.time) })
}

// future tells whether a time of the driver's has yet to come. A read may take long: what was measured meanwhile has come.
func (b *board) future(us uint64) bool { return us > b.horizon && us > horizon(b.src.opts.now()) }

func (b *board) readUtilization(d *gpu.Device) {
	b.drain(engineGeneral)
	b.drain(engineMemory)
	general, haveGeneral := b.samples[engineGeneral].take()
	memory, haveMemory := b.samples[engineMemory].take()
	if !haveGeneral || !haveMemory {
		if answer, ok := b.ask(fnUtilization); ok {
			now := filled[gonvml.Utilization](answer)
			if !haveGeneral {
				general, haveGeneral = fraction(now.Gpu)
			}
			if !haveMemory {
				memory, haveMemory = fraction(now.Memory)
			}
		}
	} else {
		b.needless(fnUtilization)
	}
	d.Utilization[gpu.TaskGeneral] = known(general, haveGeneral)
	d.MemoryController = known(memory, haveMemory)
}

func (b *board) readMediaUtilization(d *gpu.Device) {
	for e := engineEncoder; e < numEngines; e++ {
		spec := &engines[e]
		b.drain(e)
		v, ok := b.samples[e].take()
		if ok {
			b.needless(spec.now)
		} else if now, answered := b.ask(spec.now); answered {
			v, ok = fraction(now.number())
		}
		d.Utilization[spec.task] = known(v, ok)
	}
}

// drainSamples fetches samples between two reads, before the driver overwrites them.
func (b *board) drainSamples() {
	b.begin()
	clear(b.ahead[:])
	for e := range numEngines {
		if b.src.want.Has(engines[e].group) {
			b.drain(e)
		}
	}
	if b.src.want.Has(gpu.GroupProcessUtilization) && !b.mig {
		b.drainUsages()
	}
}
