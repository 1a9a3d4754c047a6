// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var (
	gpmSupport = library.NewFunction("GPM", "nvmlGpmQueryDeviceSupport")
	gpmAlloc   = library.NewFunction("GPM", "nvmlGpmSampleAlloc")
	gpmFree    = library.NewFunction("GPM", "nvmlGpmSampleFree")
	gpmGet     = library.NewFunction("GPM", "nvmlGpmSampleGet")
	gpmMetrics = library.NewFunction("GPM", "nvmlGpmMetricsGet")
)

// gpmMinSpan is how far apart two samples have to be for the driver to compute metrics from them.
const gpmMinSpan = 100 * time.Millisecond

// gpmPipes are the metrics that are read (nvmlGpmMetricId_t), in percent.
var gpmPipes = [...]struct {
	id   uint32
	pipe gpu.Pipe
}{
	{1, gpu.PipeGraphics},
	{2, gpu.PipeSM},
	{4, gpu.PipeInteger},
	{5, gpu.PipeTensor},
	{10, gpu.PipeDRAM},
	{11, gpu.PipeFP64},
	{12, gpu.PipeFP32},
	{13, gpu.PipeFP16},
	{3, gpu.NumPipes}, // occupancy of the SMs
}

// gpmPCIe are the metrics of the PCIe link, transmitted and received, with the packets' headers, in MiB/s: the mean between the samples.
var gpmPCIe = [...]uint32{20, 21}

// maxPCIeRate is a rate in MiB/s that no link has.
const maxPCIeRate = 1 << 20

// gpm reads the GPU performance monitoring: it samples the counters of the compute engine, and lets the driver compute fractions from this
// sample and the sample of the last read.
type gpm struct {
	earlier, later library.GPMSample
	earlierTime    time.Time     // zero: there is no earlier one
	span           time.Duration // between the samples that were compared in this read; 0: none were
	metrics        []gpmMetric   // of this read: gpmPipes, then gpmPCIe if it is wanted
	supported      gpu.Opt[bool]
}

type gpmMetric struct {
	value float64
	ok    bool
}

// drop forgets the earlier sample: it belongs to another session or another partitioning.
func (g *gpm) drop() {
	g.earlierTime = time.Time{}
	g.supported = gpu.Opt[bool]{}
}

// read samples the GPU, or one instance, and has the driver compare this with the sample of the last read.
func (g *gpm) read(dev *device, pcie bool) {
	g.span = 0
	if !g.supported.Known() && dev.Can(gpmSupport) {
		if s, ret := dev.handle.GpmQueryDeviceSupport(); dev.OK(gpmSupport, library.Code(ret)) {
			g.supported = gpu.Some(s.IsSupportedDevice != 0)
		}
	}
	if yes, _ := g.supported.Get(); !yes || !dev.Can(gpmGet) || !dev.Can(gpmMetrics) || !g.alloc(dev) || g.tooSoon(dev.readTime) {
		return
	}
	if !dev.OK(gpmGet, library.Code(g.later.Get(dev.handle.BoundDevice))) {
		return
	}
	if !g.earlierTime.IsZero() && g.compare(dev, pcie) {
		g.span = dev.readTime.Sub(g.earlierTime)
	}
	g.earlier, g.later = g.later, g.earlier
	g.earlierTime = dev.readTime
}

// compare has the driver compute the metrics.
func (g *gpm) compare(dev *device, pcie bool) bool {
	request := library.GPMMetrics{Sample1: g.earlier, Sample2: g.later, NumMetrics: uint32(len(gpmPipes))}
	for i := range gpmPipes {
		request.Metrics[i].MetricId = gpmPipes[i].id
	}
	if pcie {
		for i, id := range gpmPCIe {
			request.Metrics[len(gpmPipes)+i].MetricId = id
		}
		request.NumMetrics += uint32(len(gpmPCIe))
	}
	if !dev.OK(gpmMetrics, dev.lib.GPMMetrics(&request)) {
		return false
	}
	g.metrics = make([]gpmMetric, request.NumMetrics)
	for i := range g.metrics {
		m := &request.Metrics[i]
		g.metrics[i] = gpmMetric{m.Value, library.Code(m.NvmlReturn) == library.OK}
	}
	return true
}

// alloc allocates the samples, whose memory is the driver's.
func (g *gpm) alloc(dev *device) bool {
	for _, sample := range [...]*library.GPMSample{&g.earlier, &g.later} {
		if *sample != nil {
			continue
		}
		if !dev.Can(gpmAlloc) || !dev.Has(gpmFree) {
			return false
		}
		allocated, code := dev.lib.NewGPMSample()
		if !dev.OKUncounted(gpmAlloc, code) {
			return false
		}
		*sample = allocated
	}
	return true
}

// free gives the samples back to the driver.
func (g *gpm) free() {
	for _, sample := range [...]*library.GPMSample{&g.earlier, &g.later} {
		if *sample != nil {
			_ = (*sample).Free()
			*sample = nil
		}
	}
	g.earlierTime = time.Time{}
}

// tooSoon reports whether the last sample is so young that the next read is compared with it.
func (g *gpm) tooSoon(now time.Time) bool {
	return !g.earlierTime.IsZero() && !g.earlierTime.Equal(now) && now.Sub(g.earlierTime) < gpmMinSpan
}

// available reports whether this read or a later one has metrics.
func (g *gpm) available(dev *device) bool {
	yes, _ := g.supported.Get()
	return yes && dev.Supported(gpmGet) && dev.Supported(gpmMetrics)
}

// readPipes sets the fractions of time for which the pipes were busy.
func (g *gpm) readPipes(d *gpu.Device) {
	if g.span == 0 {
		return
	}
	for i := range gpmPipes {
		v := pipeFraction(g.metrics[i].value, g.metrics[i].ok)
		if pipe := gpmPipes[i].pipe; pipe < gpu.NumPipes {
			d.Pipes[pipe] = v
		} else {
			d.Occupancy = v
		}
	}
}

// pcieRates returns what went over the PCIe link between the samples, in bytes a second, transmitted and received.
func (g *gpm) pcieRates() (rates [len(gpmPCIe)]float64, ok bool) {
	if g.span == 0 || len(g.metrics) < len(gpmPipes)+len(gpmPCIe) {
		return rates, false
	}
	for i := range rates {
		m := g.metrics[len(gpmPipes)+i]
		if !m.ok || !(m.value >= 0 && m.value < maxPCIeRate) {
			return rates, false
		}
		rates[i] = m.value * bytesPerMiB
	}
	return rates, true
}
