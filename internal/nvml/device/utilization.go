// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// engine is a part of the GPU whose utilization the driver samples.
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

// engines are what the driver calls the samples (nvmlSamplingType_t), which metric needs them, and what returns the instantaneous value.
var engines = [numEngines]struct {
	samples *library.Function
	kind    int32
	group   gpu.Group
	task    gpu.Task
	current *library.Function
	call    func(library.Device) (uint32, uint32, library.Return)
}{
	engineGeneral: {newSamples("utilization samples"), library.SamplesGPU, gpu.GroupUtilization, gpu.TaskGeneral, nil, nil},
	engineMemory:  {newSamples("memory controller samples"), library.SamplesMemory, gpu.GroupUtilization, gpu.NumTasks, nil, nil},
	engineEncoder: {
		newSamples("encoder samples"), library.SamplesEncoder, gpu.GroupMediaUtilization, gpu.TaskEncoder,
		library.NewFunction("encoder utilization", "nvmlDeviceGetEncoderUtilization"), library.Device.GetEncoderUtilization,
	},
	engineDecoder: {
		newSamples("decoder samples"), library.SamplesDecoder, gpu.GroupMediaUtilization, gpu.TaskDecoder,
		library.NewFunction("decoder utilization", "nvmlDeviceGetDecoderUtilization"), library.Device.GetDecoderUtilization,
	},
	engineJPEG: {
		newSamples("JPEG engine samples"), library.SamplesJPEG, gpu.GroupMediaUtilization, gpu.TaskJPEG,
		library.NewFunction("JPEG engine utilization", "nvmlDeviceGetJpgUtilization"), library.Device.GetJpgUtilization,
	},
	engineOFA: {
		newSamples("optical flow samples"), library.SamplesOFA, gpu.GroupMediaUtilization, gpu.TaskOpticalFlow,
		library.NewFunction("optical flow utilization", "nvmlDeviceGetOfaUtilization"), library.Device.GetOfaUtilization,
	},
}

func newSamples(what string) *library.Function {
	return library.NewFunction(what, "nvmlDeviceGetSamples")
}

var utilizationRates = library.NewFunction("utilization", "nvmlDeviceGetUtilizationRates")

// utilization reads the mean utilization of the engines since the last read, from the samples of the driver.
type utilization struct {
	means [numEngines]mean
	lists [numEngines]library.SampleList
	ring  uint64 // microseconds that the driver's samples cover, as far as seen
}

// restart forgets the time of the driver's clock.
func (u *utilization) restart() { u.means = [numEngines]mean{} }

// clock is the driver's time as far as its samples show it.
func (u *utilization) clock() uint64 { return u.means[engineGeneral].last }

// readGeneral reads the utilization of the GPU and of its memory controller. Without samples it is the instantaneous one.
func (u *utilization) readGeneral(dev *device, d *gpu.Device) {
	u.fetch(dev, engineGeneral)
	u.fetch(dev, engineMemory)
	general, haveGeneral := u.means[engineGeneral].take()
	memory, haveMemory := u.means[engineMemory].take()
	if haveGeneral && haveMemory {
		dev.NotNeeded(utilizationRates)
	} else if dev.Can(utilizationRates) {
		if now, ret := dev.handle.GetUtilizationRates(); dev.OK(utilizationRates, library.Code(ret)) {
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

// readMedia reads the utilization of the engines for video and pictures. Without samples it is the instantaneous one.
func (u *utilization) readMedia(dev *device, d *gpu.Device) {
	for e := engineEncoder; e < numEngines; e++ {
		spec := &engines[e]
		u.fetch(dev, e)
		v, ok := u.means[e].take()
		if ok {
			dev.NotNeeded(spec.current)
		} else if dev.Can(spec.current) {
			if now, _, ret := spec.call(dev.handle); dev.OK(spec.current, library.Code(ret)) {
				v, ok = fraction(now)
			}
		}
		d.Utilization[spec.task] = known(v, ok)
	}
}

// fetch reads the samples that the driver took since the last fetch.
func (u *utilization) fetch(dev *device, e engine) {
	spec, m := &engines[e], &u.means[e]
	if dev.future(m.last) {
		m.last = windowStart(micros(dev.at), dev.cfg.Interval)
	}
	if !dev.Can(spec.samples) {
		return
	}
	samples, kind, code := u.lists[e].Read(dev.handle, spec.samples, spec.kind, m.last)
	if !dev.OK(spec.samples, code) {
		return
	}
	// Samples from before the machine's clock was set back.
	samples = slices.DeleteFunc(samples, func(s library.Sample) bool { return dev.future(s.Time) })
	if m.last == 0 {
		// The first time the driver returns the whole ring. What is older than the interval of reads is of no interest.
		u.ring = ringSpan(samples)
		m.start(samples, dev.at, dev.cfg.Interval)
	}
	m.add(samples, kind)
}

// fetchWanted fetches the samples that some metric needs.
func (u *utilization) fetchWanted(dev *device) {
	for e := range numEngines {
		if dev.cfg.Want.Has(engines[e].group) {
			u.fetch(dev, e)
		}
	}
}
