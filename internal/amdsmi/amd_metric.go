// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// amdMetric fills a device with what a record of amd-smi metric says of it, and returns the shares of its partitions.
// Sections that were not asked for are not in the record.
func amdMetric(r record, d *gpu.Device) []share {
	usage := r.section("usage")
	d.Utilization[gpu.TaskGeneral] = quantity(usage.first("gfx_activity", "gfx_usage"), ratio, "%")
	d.Utilization[gpu.TaskJPEG] = engines(usage.first("jpeg_activity"))
	d.MemoryController = quantity(usage.first("umc_activity", "mem_usage"), ratio, "%")
	shares := amdShares(usage)
	if !d.Utilization[gpu.TaskJPEG].Known() {
		// Since 7.0 the engines are listed by partition only, also where there is but one.
		d.Utilization[gpu.TaskJPEG] = meanShare(shares, gpu.TaskJPEG)
	}

	amdMemory(r, d)
	amdTemperature(r.section("temperature"), d)
	d.Energy = counted(quantity(r.at("energy", "total_energy_consumption"), joules, "J"))
	amdPower(r.section("power"), d)
	clock := r.section("clock")
	amdClock(clock, &d.Clocks[gpu.ClockGraphics], "gfx")
	amdClock(clock, &d.Clocks[gpu.ClockMemory], "mem")
	amdClock(clock, &d.Clocks[gpu.ClockVideo], "vclk")
	amdPCIe(r, d)
	if fan := quantity(r.section("fan").first("usage", "apu_fan_pwm"), ratio, "%"); fan.Known() {
		d.Fans = []gpu.Fan{{Location: "fan0", Ratio: fan}}
	}
	amdErrors(r, d)
	amdThrottle(r.section("throttle"), d)
	return shares
}

// amdMemory reads the memory, which amd-smi prints in whole MiB.
func amdMemory(r record, d *gpu.Device) {
	memory := r.section("mem_usage")
	if memory == nil {
		memory = r.section("fb_usage") // 5.7
	}
	of := func(keys ...string) gpu.Opt[int64] { return whole(quantity(memory.first(keys...), octets, "MB")) }
	m := &d.Memory
	m.Limit = of("total_vram", "vram", "vram_total", "fb_total").Or(m.Limit) // else as static tells
	m.Usage = of("used_vram", "vram_used", "fb_used")
	m.VisibleLimit, m.VisibleUsage = of("total_visible_vram", "vis_vram"), of("used_visible_vram", "used_vis_vram")
	m.SystemLimit, m.SystemUsage = of("total_gtt", "gtt"), of("used_gtt")
	unified(m)
}

// unified takes the zeros off a GPU of which no memory can be visible, since it has none of its own but the machine's (MI300A): its
// size is told by KFD, which not every version of the tools asks, and fewer ask it how much is in use.
func unified(m *gpu.Memory) {
	zero := gpu.Some[int64](0)
	if m.VisibleLimit != zero {
		return
	}
	for _, v := range [...]*gpu.Opt[int64]{&m.Limit, &m.Usage, &m.VisibleLimit, &m.VisibleUsage} {
		if *v == zero {
			*v = gpu.Opt[int64]{}
		}
	}
}

func amdTemperature(r record, d *gpu.Device) {
	d.Temperature[gpu.SensorEdge] = quantity(r.first("edge", "edge_temperature"), celsius, "C")
	d.Temperature[gpu.SensorHotspot] = quantity(r.first("hotspot", "hotspot_temperature"), celsius, "C")
	memory := quantity(r.first("mem", "mem_temperature"), celsius, "C")
	if !memory.Known() {
		stacks, _ := r["hbm_stacks"].([]any)
		for _, s := range stacks {
			memory = higher(memory, quantity(s, celsius, "C"))
		}
	}
	d.Temperature[gpu.SensorMemory] = memory
}

// amdPower reads the power of the package. socket_power is the average or the present one, whichever the device has.
func amdPower(r record, d *gpu.Device) {
	d.Power.Instant = quantity(r.first("current_socket_power"), watts, "W")
	d.Power.Draw = quantity(r.first("average_socket_power", "socket_power"), watts, "W").Or(d.Power.Instant)
	drawn(&d.Power, d.Energy)
}

// leastPower is what a GPU that is awake draws at least, in watts.
const leastPower = 0.3

// drawn takes a draw of nothing at all for what it is: that of the second die of an MI250, whose power the first one tells
// for both, and which counts no energy either. One of milliwatts is watts that the driver took for them.
func drawn(p *gpu.Power, energy gpu.Counter[float64]) {
	joules, _ := energy.Get()
	for _, watts := range [...]*gpu.Opt[float64]{&p.Draw, &p.Instant} {
		if w, ok := watts.Get(); ok && (w == 0 && joules == 0 || w > 0 && w < leastPower) {
			*watts = gpu.Opt[float64]{}
		}
	}
}

// amdClock reads a clock: gfx_0 to gfx_7 since 6.1, of which the first that runs stands for all, gfx before.
func amdClock(r record, clock *gpu.Clock, name string) {
	for i := -1; i < 8; i++ {
		key := name
		if i >= 0 {
			key += "_" + strconv.Itoa(i)
		}
		c := r.section(key)
		if c == nil {
			continue
		}
		speed := quantity(c.first("clk", "cur_clk", "current_clk"), hertz, "MHz")
		if !speed.Known() {
			continue
		}
		clock.Speed = speed
		if limit := quantity(c.first("max_clk"), hertz, "MHz"); limit != gpu.Some(0.0) {
			clock.Limit = limit
		}
		return
	}
}

// amdPCIe reads the link as it is now, and the replays.
func amdPCIe(r record, d *gpu.Device) {
	pcie := r.section("pcie")
	d.PCIe.Generation = generation(pcieSpeed(pcie.first("speed", "pcie_speed", "current_speed"))).Or(d.PCIe.Generation)
	d.PCIe.Width = linkWidth(pcie.first("width", "pcie_lanes", "current_width")).Or(d.PCIe.Width)
	replays := pcie.first("replay_count")
	if replays == nil {
		replays = r["replay_count"] // 5.7
	}
	counted := slices.ContainsFunc(d.Errors, func(e gpu.ErrorCount) bool { return e.Type == gpu.ErrorPCIeReplay })
	if n := quantity(replays, count, ""); n.Known() && !counted {
		d.Errors = append(d.Errors, gpu.ErrorCount{Type: gpu.ErrorPCIeReplay, Count: total(n)})
	}
}

// errorKeys are what the counts of a block, and the totals of a device, are called.
var errorKeys = [...]struct {
	kind gpu.ErrorType
	keys []string
}{
	{gpu.ErrorCorrected, []string{"correctable_count", "correctable", "total_correctable_count"}},
	{gpu.ErrorUncorrected, []string{"uncorrectable_count", "uncorrectable", "total_uncorrectable_count"}},
	{gpu.ErrorDeferred, []string{"deferred_count", "deferred", "total_deferred_count"}},
}

// amdErrors reads the RAS counts by block, or where there are none the totals: never both, which would count twice.
func amdErrors(r record, d *gpu.Device) {
	blocks := r.section("ecc_blocks")
	if blocks == nil {
		blocks = r.section("ecc_block") // 5.7
	}
	names := make([]string, 0, len(blocks))
	for name := range blocks {
		names = append(names, name)
	}
	slices.Sort(names)
	names = names[:min(len(names), maxBlocks)]
	before := len(d.Errors)
	for _, name := range names {
		appendErrors(d, blocks.section(name), strings.ToLower(label(name)))
	}
	if len(d.Errors) == before {
		appendErrors(d, r.section("ecc"), "")
	}
}

func appendErrors(d *gpu.Device, counts record, block string) {
	for _, e := range errorKeys {
		if n := quantity(counts.first(e.keys...), count, ""); n.Known() {
			d.Errors = append(d.Errors, gpu.ErrorCount{Type: e.kind, Block: block, Count: total(n)})
		}
	}
}

// amdShares reads the utilization of each partition, which the first one's record has: {"xcp_0": [{"value": 7, …}, "N/A"]}.
// A GPU that is not divided has one, which says nothing that the GPU's own utilization does not.
func amdShares(usage record) []share {
	var shares []share
	for task, key := range map[gpu.Task]string{gpu.TaskGeneral: "gfx_busy_inst", gpu.TaskJPEG: "jpeg_busy"} {
		for name, v := range usage.section(key) {
			digits, ok := strings.CutPrefix(strings.ToLower(name), "xcp_")
			n, err := strconv.ParseUint(digits, 10, 8)
			if !ok || err != nil || n >= 64 {
				continue
			}
			for len(shares) <= int(n) {
				shares = append(shares, share{})
			}
			shares[n].utilization[task] = engines(v)
		}
	}
	return shares
}

// meanShare returns the mean over the partitions.
func meanShare(shares []share, task gpu.Task) gpu.Opt[float64] {
	var sum float64
	n := 0
	for i := range shares {
		if v, ok := shares[i].utilization[task].Get(); ok {
			sum += v
			n++
		}
	}
	if n == 0 {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(sum / float64(n))
}

// engines returns the mean over the engines of a kind: a list, or a single value.
func engines(v any) gpu.Opt[float64] {
	if list, ok := v.([]any); ok {
		return mean(list, ratio, "%")
	}
	return quantity(v, ratio, "%")
}
