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
// The samples of one engine take a driver 1 to 3 ms, the instantaneous value 2 µs.
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

	fresh  uint64           // new samples of the GPU at the last fetch
	failed bool             // which did not succeed
	worked [numEngines]bool // the engine worked at the last fetch, or had worked
}

// engineUse tells what is known of the engines for video besides their samples.
type engineUse struct{ encoder, decoder bool }

func (u engineUse) of(e engine) bool {
	return e == engineEncoder && u.encoder || e == engineDecoder && u.decoder
}

// restart forgets the time of the driver's clock.
func (u *utilization) restart() { u.means, u.worked = [numEngines]mean{}, [numEngines]bool{} }

// clock is the driver's time as far as its samples show it.
func (u *utilization) clock() uint64 { return u.means[engineGeneral].last }

// readGeneral reads the utilization of the GPU and of its memory controller. Without samples it is the instantaneous one.
func (u *utilization) readGeneral(dev *device, d *gpu.Device) {
	u.fetchGeneral(dev)
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
func (u *utilization) readMedia(dev *device, d *gpu.Device, used engineUse) {
	sessions, _ := d.Encoder.Count.Get()
	used.encoder = used.encoder || sessions > 0
	for e := engineEncoder; e < numEngines; e++ {
		spec := &engines[e]
		now, answered := u.fetchMedia(dev, e, used.of(e))
		v, ok := u.means[e].take()
		if ok {
			dev.NotNeeded(spec.current)
		} else if answered {
			v, ok = fraction(now)
		}
		d.Utilization[spec.task] = known(v, ok)
	}
}

// fetchGeneral fetches the samples of the GPU, which show the driver's clock, and of its memory controller.
func (u *utilization) fetchGeneral(dev *device) {
	before := u.means[engineGeneral].count
	u.failed = !u.fetch(dev, engineGeneral)
	u.fresh = u.means[engineGeneral].count - before
	if dev.cfg.Want.Has(engines[engineMemory].group) {
		u.fetch(dev, engineMemory)
	}
}

// fetchMedia fetches the samples of an engine for video or pictures only if they tell something: the engine works now, or worked at the last
// fetch, or something used it since. Otherwise each of its samples is 0. So a use is missed that begins and ends between two fetches, unless
// the driver names a process with it. It returns the instantaneous value.
func (u *utilization) fetchMedia(dev *device, e engine, used bool) (now uint32, answered bool) {
	spec, m := &engines[e], &u.means[e]
	if dev.Can(spec.current) {
		var ret library.Return
		now, _, ret = spec.call(dev.handle)
		answered = dev.OK(spec.current, library.Code(ret))
	}
	if answered && now == 0 && !used && !u.worked[e] && !u.failed {
		m.idle(u.fresh, u.clock())
		return now, answered
	}
	sum := m.sum
	u.fetch(dev, e)
	u.worked[e] = now > 0 || m.sum > sum
	return now, answered
}

// fetch reads the samples that the driver took since the last fetch. ok: it knows which there are.
func (u *utilization) fetch(dev *device, e engine) (ok bool) {
	spec, m := &engines[e], &u.means[e]
	if dev.future(m.last) {
		m.last = windowStart(micros(dev.at), dev.cfg.Interval)
	}
	if !dev.Can(spec.samples) {
		return false
	}
	samples, kind, code := u.lists[e].Read(dev.handle, spec.samples, spec.kind, m.last)
	if !dev.OK(spec.samples, code) {
		return code.Answer() == library.NoValue
	}
	// Samples from before the machine's clock was set back.
	samples = slices.DeleteFunc(samples, func(s library.Sample) bool { return dev.future(s.Time) })
	if m.last == 0 {
		// The first time the driver returns the whole ring. What is older than the interval of reads is of no interest.
		u.ring = ringSpan(samples)
		m.start(samples, dev.at, dev.cfg.Interval)
	}
	m.add(samples, kind)
	return true
}
