// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
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
	kind    gonvml.SamplingType
	group   gpu.Group
	task    gpu.Task
	now     function // the instantaneous value
	ask     func(gonvml.Device) (uint32, uint32, gonvml.Return)
}{
	engineGeneral: {fnSamplesGeneral, gonvml.GPU_UTILIZATION_SAMPLES, gpu.GroupUtilization, gpu.TaskGeneral, fnUtilization, nil},
	engineMemory:  {fnSamplesMemory, gonvml.MEMORY_UTILIZATION_SAMPLES, gpu.GroupUtilization, gpu.NumTasks, fnUtilization, nil},
	engineEncoder: {
		fnSamplesEncoder, gonvml.ENC_UTILIZATION_SAMPLES, gpu.GroupMediaUtilization, gpu.TaskEncoder,
		fnEncoder, gonvml.Device.GetEncoderUtilization,
	},
	engineDecoder: {
		fnSamplesDecoder, gonvml.DEC_UTILIZATION_SAMPLES, gpu.GroupMediaUtilization, gpu.TaskDecoder,
		fnDecoder, gonvml.Device.GetDecoderUtilization,
	},
	engineJPEG: {
		fnSamplesJPEG, gonvml.JPG_UTILIZATION_SAMPLES, gpu.GroupMediaUtilization, gpu.TaskJPEG,
		fnJPEG, gonvml.Device.GetJpgUtilization,
	},
	engineOFA: {
		fnSamplesOFA, gonvml.OFA_UTILIZATION_SAMPLES, gpu.GroupMediaUtilization, gpu.TaskOpticalFlow,
		fnOFA, gonvml.Device.GetOfaUtilization,
	},
}

// drain fetches the samples that the driver took since they were last fetched.
func (b *board) drain(e engine) {
	spec, m := &engines[e], &b.samples[e]
	if !b.can(spec.samples) {
		return
	}
	samples, kind, ret := b.room.sampleList(&b.lib.direct, b.device, spec.kind, m.last)
	if !b.ok(spec.samples, ret) {
		return
	}
	if m.last == 0 {
		// The first time the whole ring is there. What is older than a reading interval is not of interest.
		b.ring = span(samples)
		m.start(samples, b.src.opts.interval)
	}
	m.add(samples, kind)
}

func (b *board) readUtilization(d *gpu.Device) {
	b.drain(engineGeneral)
	b.drain(engineMemory)
	general, haveGeneral := b.samples[engineGeneral].take()
	memory, haveMemory := b.samples[engineMemory].take()
	if (!haveGeneral || !haveMemory) && b.can(fnUtilization) {
		if now, ret := b.handle.GetUtilizationRates(); b.ok(fnUtilization, code(ret)) {
			if !haveGeneral {
				general, haveGeneral = fraction(now.Gpu)
			}
			if !haveMemory {
				memory, haveMemory = fraction(now.Memory)
			}
		}
	}
	d.Utilization[gpu.TaskGeneral] = known(general, haveGeneral)
	d.MemoryController = known(memory, haveMemory)
}

func (b *board) readMediaUtilization(d *gpu.Device) {
	for e := engineEncoder; e < numEngines; e++ {
		spec := &engines[e]
		b.drain(e)
		v, ok := b.samples[e].take()
		if !ok && b.can(spec.now) {
			now, _, ret := spec.ask(b.handle)
			if b.ok(spec.now, code(ret)) {
				v, ok = fraction(now)
			}
		}
		d.Utilization[spec.task] = known(v, ok)
	}
}

// drainSamples fetches samples between two reads, before the driver overwrites them.
func (b *board) drainSamples() {
	b.begin()
	for e := range numEngines {
		if b.src.want.Has(engines[e].group) {
			b.drain(e)
		}
	}
	if b.src.want.Has(gpu.GroupProcessUtilization) {
		b.drainUsages()
	}
}
