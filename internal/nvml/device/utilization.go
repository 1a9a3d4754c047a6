// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

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
	engineMemory: {
		newSamples("memory controller samples"), library.SamplesMemory, gpu.GroupUtilization, gpu.NumTasks, utilizationRates,
		func(h library.Device) (uint32, uint32, library.Return) {
			now, ret := h.GetUtilizationRates()
			return now.Memory, 0, ret
		},
	},
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

func newSamples(name string) *library.Function {
	return library.NewFunction(name, "nvmlDeviceGetSamples")
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

func (u engineUse) uses(e engine) bool {
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
		now, answered := u.fetchUsed(dev, e, used.uses(e))
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
	before := u.means[engineGeneral]
	u.failed = !u.fetch(dev, engineGeneral)
	u.fresh = u.means[engineGeneral].count - before.count
	if dev.cfg.Want.Has(engines[engineMemory].group) {
		u.fetchUsed(dev, engineMemory, u.means[engineGeneral].sum > before.sum)
	}
}

// fetchUsed fetches the samples of an engine only if they tell something: the engine works now, or worked at the last fetch, or something used
// it since. Otherwise each of its samples is 0. The memory controller is used by the GPU, whose samples count kernels and copies. A use of an
// engine for video or pictures that begins and ends between two fetches is missed, unless the driver names a process with it. It returns the
// instantaneous value.
func (u *utilization) fetchUsed(dev *device, e engine, used bool) (now uint32, answered bool) {
	spec, m := &engines[e], &u.means[e]
	if dev.Can(spec.current) {
		var ret library.Return
		now, _, ret = spec.call(dev.handle)
		answered = dev.OK(spec.current, library.Code(ret))
	}
	if answered && now == 0 && !used && !u.worked[e] && !u.failed {
		m.idle(u.fresh, u.clock())
		dev.NotNeeded(spec.samples)
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
		m.last = windowStart(micros(dev.readTime), dev.cfg.Interval)
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
		m.start(samples, dev.readTime, dev.cfg.Interval)
	}
	m.add(samples, kind)
	return true
}

// percent returns a sample's value, which NVML documents as an unsigned int; notPercent: it is not a number of percent.
func percent(s *library.Sample, kind uint32) uint64 {
	if kind == library.TypeUnsignedInt {
		return uint64(binary.NativeEndian.Uint32(s.Value[:]))
	}
	if v, ok := library.Decode(kind, s.Value); ok && v.Whole && v.Real >= 0 {
		return v.Unsigned
	}
	return notPercent
}

const notPercent = math.MaxUint64

// mean is the mean of the samples between two reads.
type mean struct {
	sum   uint64
	count uint64
	last  uint64 // time of the newest sample seen, from which the driver continues
}

// add adds the samples that are newer than the newest seen. The driver's list may end in empty entries, and may repeat what was seen.
func (m *mean) add(samples []library.Sample, kind uint32) {
	newest := m.last
	for i := range samples {
		s := &samples[i]
		if s.Time <= m.last {
			continue
		}
		v := percent(s, kind)
		if v > 100 { // not a measurement
			continue
		}
		m.sum += v
		m.count++
		newest = max(newest, s.Time)
	}
	m.last = newest
}

// idle adds samples of 0 that were not fetched, up to a time.
func (m *mean) idle(samples, until uint64) {
	m.count += samples
	m.last = max(m.last, until)
}

// start leaves out, before the first add, samples that are older than the window before the newest sample; without a window, nothing. If
// the newest is itself older than the window, all are left out: the driver may have stopped when the GPU became idle.
func (m *mean) start(samples []library.Sample, now time.Time, window time.Duration) {
	var newest uint64
	for _, s := range samples {
		newest = max(newest, s.Time)
	}
	us := uint64(max(window.Microseconds(), 0))
	switch {
	case us == 0 || us >= newest:
	case newest >= earliestEpoch && newest+us < micros(now):
		m.last = newest
	default:
		m.last = newest - us
	}
}

// take returns the mean of the samples that were added since the last take, as a fraction.
func (m *mean) take() (float64, bool) {
	if m.count == 0 {
		return 0, false
	}
	v := float64(m.sum) / float64(m.count) / 100
	m.sum, m.count = 0, 0
	return v, true
}

// ringSpan is how much time a full ring of samples covers, in microseconds, including one period before the oldest; 0: too few samples.
func ringSpan(samples []library.Sample) uint64 {
	var oldest, newest, n uint64
	for _, s := range samples {
		if s.Time == 0 {
			continue
		}
		if n == 0 || s.Time < oldest {
			oldest = s.Time
		}
		newest = max(newest, s.Time)
		n++
	}
	if n < 2 {
		return 0
	}
	return (newest - oldest) * n / (n - 1)
}
