// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// How many of the driver's units make one of SI.
const (
	percent = 100
	milli   = 1000
	micro   = 1_000_000
)

const fullPWM = 255 // the duty cycle of a fan at its fastest

// tableGroups are the quantities for which the gpu_metrics table is read: those that no plain file has, or not on every GPU.
const tableGroups = gpu.GroupUtilization | gpu.GroupMediaUtilization | gpu.GroupTemperature | gpu.GroupPower |
	gpu.GroupEnergy | gpu.GroupClocks | gpu.GroupThrottle | gpu.GroupThrottleTime | gpu.GroupPCIeLink |
	gpu.GroupPCIeReplay | gpu.GroupInterconnect | gpu.GroupInterconnectLinks

// readings reads the quantities that are wanted.
func (b *board) readings(d *gpu.Device) {
	b.table()
	if b.want.Has(gpu.GroupUtilization) {
		d.Utilization[gpu.TaskGeneral] = b.scaled("utilization", b.files.busy, percent, 0, 1).Or(b.metrics.gfx)
		d.MemoryController = b.scaled("memory controller utilization", b.files.memoryBusy, percent, 0, 1).Or(b.metrics.controller)
	}
	if b.want.Has(gpu.GroupMediaUtilization) {
		b.media(d)
	}
	if b.want.Has(gpu.GroupMemory) {
		b.memory(d)
	}
	b.temperatures(d)
	b.power(d)
	b.clocks(d)
	if b.want.Has(gpu.GroupThrottle | gpu.GroupThrottleTime) {
		throttleStatus(d, b.metrics.throttle)
		b.throttle.read(d, &b.metrics, b.now)
	}
	if b.want.Has(gpu.GroupFans) {
		b.fan(d)
	}
	b.pcie(d)
	b.interconnect(d)
	if b.want.Has(gpu.GroupECC) {
		b.errorCounts(d)
	}
}

// table reads the gpu_metrics table. It is left empty where there is none.
func (b *board) table() {
	b.metrics = metrics{}
	if !b.want.Has(tableGroups) {
		return
	}
	text, ok := b.file("gpu_metrics", b.files.metrics)
	if !ok {
		b.energy.Doubt() // so the driver answers while it resets the GPU
		return
	}
	if err := b.decode.decode(&b.metrics, text); err != nil {
		b.metrics = metrics{}
		b.out.problems.add("gpu_metrics", fmt.Errorf("amdgpu: %s: %w", b.title(), err))
	}
}

// media sets how busy the JPEG engines are. How busy those for video are the table tells too, but not with what: encoding
// and decoding are done by the same.
func (b *board) media(d *gpu.Device) {
	d.Utilization[gpu.TaskJPEG] = b.metrics.jpeg
	if b.metrics.jpeg.Known() {
		return
	}
	var sum float64
	n := 0
	for i := range b.metrics.shares {
		if v, ok := b.metrics.shares[i].jpeg.Get(); ok {
			sum += v
			n++
		}
	}
	if n > 0 {
		d.Utilization[gpu.TaskJPEG] = gpu.Some(sum / float64(n))
	}
}

func (b *board) memory(d *gpu.Device) {
	m := &d.Memory
	m.Limit = b.bytes(b.files.memoryTotal).Or(b.identity.memory)
	m.Usage = b.bytes(b.files.memoryUsed)
	m.VisibleLimit = b.bytes(b.files.visibleTotal)
	m.VisibleUsage = b.bytes(b.files.visibleUsed)
	m.SystemLimit = b.bytes(b.files.mappableTotal)
	m.SystemUsage = b.bytes(b.files.mappableUsed)
	if m.Limit == gpu.Some[int64](0) {
		m.VisibleLimit, m.VisibleUsage = gpu.Opt[int64]{}, gpu.Opt[int64]{}
		m.Limit, m.Usage = b.unified()
	}
}

// unified returns the memory of an accelerator that has the machine's for its own (MI300A), of which the DRM driver says that it
// has none: as the compute driver tells, where it tells of the whole GPU. What of it is in use AMD's own driver tells alone.
func (b *board) unified() (limit, usage gpu.Opt[int64]) {
	if len(b.nodes) != max(1, b.count()) {
		return limit, usage
	}
	var total, used uint64
	told := true
	for i := range b.nodes {
		n := &b.nodes[i]
		if n.memory == 0 || n.memory > mostBytes {
			return limit, usage
		}
		total += n.memory
		v, err := n.usedMemory(b.buf)
		if told = told && err == nil && v <= n.memory; told {
			used += v
		}
	}
	if told {
		usage = gpu.Some(int64(used))
	}
	return gpu.Some(int64(total)), usage
}

func (b *board) temperatures(d *gpu.Device) {
	for s := range b.files.temperature {
		if b.want.Has(gpu.GroupTemperature) {
			d.Temperature[s] = b.scaled("temperature", b.files.temperature[s], milli, coldest, hottest).Or(b.metrics.temperature[s])
		}
		if b.want.Has(gpu.GroupTemperatureLimits) {
			d.TemperatureLimit[s][gpu.LimitDegraded] = b.threshold(b.files.degraded[s])
			d.TemperatureLimit[s][gpu.LimitCritical] = b.threshold(b.files.critical[s])
		}
	}
}

// threshold reads a limit of temperature; 0 is how a firmware says that there is none.
func (b *board) threshold(name string) gpu.Opt[float64] {
	return b.scaled("temperature limit", name, milli, 1, hottest)
}

func (b *board) power(d *gpu.Device) {
	if b.want.Has(gpu.GroupPowerLimit) {
		// 0 is how a GPU without a cap of its own says so: an APU, the second die of an MI250.
		d.Power.Limit[gpu.LimitMax] = b.scaled("power limit", b.files.limit, micro, 1e-6, mostPower)
	}
	if b.want.Has(gpu.GroupPower | gpu.GroupPowerDetail) {
		average := b.scaled("power", b.files.average, micro, 0, mostPower).Or(b.metrics.averagePower)
		instant := b.scaled("power", b.files.instant, micro, 0, mostPower).Or(b.metrics.currentPower)
		d.Power.Draw, d.Power.Instant = b.drawn(average.Or(instant)), b.drawn(instant)
	}
	if !b.want.Has(gpu.GroupEnergy) {
		return
	}
	if uj := b.number("energy", b.files.energy); uj.Known() {
		if v, _ := uj.Get(); v >= 0 {
			d.Energy = gpu.Total(float64(v) / micro)
		}
		return
	}
	capacity := d.Power.Limit[gpu.LimitMax].Or(b.scaled("power limit", b.files.most, micro, 1e-6, mostPower))
	if b.metrics.revision.counts32() {
		b.noteSleep()
	}
	d.Energy = b.accumulated(capacity)
}

// drawn takes a draw of nothing at all for what it is: that of the second die of an MI250, whose power the first one tells
// for both, and which counts no energy either. One of milliwatts is watts that the driver took for them.
func (b *board) drawn(watts gpu.Opt[float64]) gpu.Opt[float64] {
	w, ok := watts.Get()
	units, counted := b.metrics.energy.Get()
	if ok && (w == 0 && (!counted || units == 0) || w > 0 && w < leastPower) {
		return gpu.Opt[float64]{}
	}
	return watts
}

func (b *board) clocks(d *gpu.Device) {
	clocks := [...]struct {
		domain gpu.ClockDomain
		table  string
		metric gpu.Opt[float64]
	}{
		{gpu.ClockGraphics, b.files.graphics, b.metrics.gfxClock},
		{gpu.ClockMemory, b.files.memory, b.metrics.memoryClock},
		{gpu.ClockVideo, b.files.video, b.metrics.videoClock},
	}
	for _, c := range clocks {
		clock := &d.Clocks[c.domain]
		if b.want.Has(gpu.GroupClocks) {
			clock.Speed = b.scaled("clock", b.files.frequency[c.domain], 1, 0, fastest).Or(c.metric)
		}
		if !b.want.Has(gpu.GroupClockLimits) && (!b.want.Has(gpu.GroupClocks) || clock.Speed.Known()) {
			continue
		}
		if text, ok := b.file("clock", c.table); ok {
			current, highest := dpmTable(text)
			if b.want.Has(gpu.GroupClocks) {
				clock.Speed = clock.Speed.Or(current)
			}
			if b.want.Has(gpu.GroupClockLimits) {
				clock.Limit = highest
			}
		}
	}
}

// fan reads the duty cycle, of 255 where the file does not say otherwise, or the share of the highest speed.
func (b *board) fan(d *gpu.Device) {
	ratio := b.ratio("fan", b.files.duty, b.files.dutyMax, fullPWM)
	if !ratio.Known() {
		ratio = b.ratio("fan", b.files.fan, b.files.fanMax, 0)
	}
	if ratio.Known() {
		d.Fans = append(d.Fans, gpu.Fan{Location: "fan0", Ratio: ratio})
	}
}

func (b *board) ratio(what, now, most string, otherwise int64) gpu.Opt[float64] {
	v, ok := b.number(what, now).Get()
	if !ok {
		return gpu.Opt[float64]{}
	}
	of, ok := b.number(what, most).Get()
	if !ok || of <= 0 {
		of = otherwise
	}
	if of == 0 {
		return gpu.Opt[float64]{}
	}
	return within(float64(v)/float64(of), 0, 1)
}
