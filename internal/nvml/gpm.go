// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"time"
	"unsafe"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// gpmGap is how far apart two samples have to be for the driver to make metrics of them.
const gpmGap = 100 * time.Millisecond

// The metrics of NVML's GPM that are read (nvmlGpmMetricId_t), in percent.
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

// What went over the PCIe link, sent and received, with the headers of the packets, in MiB/s: the mean between the samples.
var gpmTraffic = [...]uint32{20, 21}

// mostTraffic is a rate in MiB/s that no link has.
const mostTraffic = 1 << 20

// gpm reads the counters of the compute engine as they were at the last read and as they are now, and has the driver make
// fractions of the difference.
type gpm struct {
	calls     *calls
	direct    *direct
	request   *gpmRequest       // of the board
	samples   [2]unsafe.Pointer // earlier, later
	taken     time.Time         // the earlier one; zero: none
	span      time.Duration     // between the samples that were compared in this read; 0: none were
	supported gpu.Opt[bool]
}

// drop forgets the earlier sample: it belongs to another session or another partitioning.
func (g *gpm) drop() {
	g.taken = time.Time{}
	g.supported = gpu.Opt[bool]{}
}

// read has the driver compare the GPU, or one instance of it, with what it was at the last read.
func (g *gpm) read(at time.Time, handle gonvml.Device, device unsafe.Pointer, traffic bool) {
	c := g.calls
	g.span = 0
	if !g.supported.Known() && c.can(fnGPMSupport) {
		if s, ret := handle.GpmQueryDeviceSupport(); c.ok(fnGPMSupport, code(ret)) {
			g.supported = gpu.Some(s.IsSupportedDevice != 0)
		}
	}
	if yes, _ := g.supported.Get(); !yes || !c.can(fnGPMSample) || !c.can(fnGPMMetrics) || !g.alloc() {
		return
	}
	if g.tooSoon(at) {
		return
	}
	if !c.ok(fnGPMSample, g.direct.takeSample(device, g.samples[1])) {
		return
	}
	if !g.taken.IsZero() && c.ok(fnGPMMetrics, g.request.metrics(g.direct, g.samples[0], g.samples[1], traffic)) {
		g.span = at.Sub(g.taken)
	}
	g.samples[0], g.samples[1] = g.samples[1], g.samples[0]
	g.taken = at
}

// alloc sees to it that there is memory for the samples, which is the driver's.
func (g *gpm) alloc() bool {
	if g.request.c == nil {
		*g.request = newGPMRequest()
	}
	for i := range g.samples {
		if g.samples[i] != nil {
			continue
		}
		if !g.calls.can(fnGPMAlloc) || !g.calls.has[fnGPMFree] {
			return false
		}
		sample, ret := g.direct.allocSample()
		if !g.calls.ok(fnGPMAlloc, ret) {
			return false
		}
		g.samples[i] = sample
	}
	return true
}

// tooSoon tells whether the last sample is so young that it stays for the next read.
func (g *gpm) tooSoon(at time.Time) bool {
	return !g.taken.IsZero() && !g.taken.Equal(at) && at.Sub(g.taken) < gpmGap
}

// awaited tells whether the metrics come, in this read or a later one.
func (g *gpm) awaited() bool {
	yes, _ := g.supported.Get()
	return yes && g.calls.supported(fnGPMSample) && g.calls.supported(fnGPMMetrics)
}

// put puts what the driver made of the samples into the device.
func (g *gpm) put(d *gpu.Device) {
	if g.span == 0 {
		return
	}
	for i := range gpmPipes {
		v := share(g.request.value(i))
		if pipe := gpmPipes[i].pipe; pipe < gpu.NumPipes {
			d.Pipes[pipe] = v
		} else {
			d.Occupancy = v
		}
	}
}

// traffic is what went over the PCIe link between the samples, in bytes a second, sent and received.
func (g *gpm) traffic() (rates [len(gpmTraffic)]float64, ok bool) {
	if g.span == 0 {
		return rates, false
	}
	for i := range rates {
		rate, told := g.request.value(len(gpmPipes) + i)
		if !told || !(rate >= 0 && rate < mostTraffic) {
			return rates, false
		}
		rates[i] = rate * bytesPerMiB
	}
	return rates, true
}

// free gives the samples back to the driver.
func (g *gpm) free() {
	for i, s := range g.samples {
		if s != nil {
			g.direct.freeSample(s)
		}
		g.samples[i] = nil
	}
	g.taken = time.Time{}
}

// readGPM takes a sample for those who want something of it.
func (b *board) readGPM(d *gpu.Device) {
	b.gpm.span = 0
	pipes, traffic := b.src.want.Has(gpu.GroupPipes), b.addsTraffic()
	if pipes || traffic {
		b.gpm.read(b.at, b.handle, b.device, traffic)
	}
	if pipes {
		b.gpm.put(d)
	}
}
