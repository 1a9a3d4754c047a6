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

// gpm reads the counters of the compute engine as they were at the last read and as they are now, and has the driver make
// fractions of the difference.
type gpm struct {
	calls     *calls
	direct    *direct
	request   *gpmRequest       // of the board
	samples   [2]unsafe.Pointer // earlier, later
	taken     time.Time         // the earlier one; zero: none
	supported gpu.Opt[bool]
}

// drop forgets the earlier sample: it belongs to another session or another partitioning.
func (g *gpm) drop() {
	g.taken = time.Time{}
	g.supported = gpu.Opt[bool]{}
}

// read reads the pipes of the GPU, or of one instance of it.
func (g *gpm) read(d *gpu.Device, at time.Time, handle gonvml.Device, device unsafe.Pointer) {
	c := g.calls
	if !g.supported.Known() && c.can(fnGPMSupport) {
		if s, ret := handle.GpmQueryDeviceSupport(); c.ok(fnGPMSupport, code(ret)) {
			g.supported = gpu.Some(s.IsSupportedDevice != 0)
		}
	}
	if yes, _ := g.supported.Get(); !yes || !c.can(fnGPMSample) || !c.can(fnGPMMetrics) || !g.alloc() {
		return
	}
	if !g.taken.IsZero() && at.Sub(g.taken) < gpmGap {
		return // the earlier sample stays, for the next read
	}
	if !c.ok(fnGPMSample, g.direct.takeSample(device, g.samples[1])) {
		return
	}
	if !g.taken.IsZero() && c.ok(fnGPMMetrics, g.request.metrics(g.direct, g.samples[0], g.samples[1])) {
		g.put(d)
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

// put puts what the driver made of the samples into the device.
func (g *gpm) put(d *gpu.Device) {
	for i := range gpmPipes {
		v := share(g.request.value(i))
		if pipe := gpmPipes[i].pipe; pipe < gpu.NumPipes {
			d.Pipes[pipe] = v
		} else {
			d.Occupancy = v
		}
	}
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

func (b *board) readPipes(d *gpu.Device) { b.gpm.read(d, b.at, b.handle, b.device) }
