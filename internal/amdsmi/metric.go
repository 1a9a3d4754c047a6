// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"reflect"
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// readMetric fills a device from its record of amd-smi metric and returns the shares of its partitions. The record has only the queried
// sections.
func readMetric(r record, d *gpu.Device) []smidevice.Share {
	shares := readUsage(r.section("usage"), d)
	readMemory(r, d)
	readTemperature(r.section("temperature"), d)
	d.Energy = smidevice.EnergyTotal(smitext.Quantity(r.lookup("energy", "total_energy_consumption"), smitext.Joules, "J"))
	readPower(r.section("power"), d)
	clock := r.section("clock")
	readClock(clock, &d.Clocks[gpu.ClockGraphics], "gfx")
	readClock(clock, &d.Clocks[gpu.ClockMemory], "mem")
	readClock(clock, &d.Clocks[gpu.ClockVideo], "vclk")
	readPCIe(r, d)
	fan := r.section("fan")
	d.Fans = smitext.Fans(fan.first("usage", "apu_fan_pwm"), fan["rpm"])
	readErrors(r, d)
	readThrottle(r, d)
	return shares
}

// unreachable returns what amd-smi metric prints instead of the readings of a device, if it prints an error and not one reading; empty
// otherwise.
func unreachable(r record) string {
	message := smitext.FirstError(map[string]any(r))
	if message == "" {
		return ""
	}
	var d gpu.Device
	readDetails(r, gpu.GroupAll, &d)
	if shares := readMetric(r, &d); len(shares) > 0 || !reflect.DeepEqual(d, gpu.Device{}) {
		return ""
	}
	return "amd-smi metric prints an error instead of values: " + message
}

// readMemory reads the memory, which amd-smi prints in whole MiB.
func readMemory(r record, d *gpu.Device) {
	memory := r.section("mem_usage")
	if memory == nil {
		memory = r.section("fb_usage") // 5.7
	}
	size := func(keys ...string) gpu.Opt[int64] {
		return smitext.Whole(smitext.Quantity(memory.first(keys...), smitext.Bytes, "MB"))
	}
	m, static := &d.Memory, d.Memory.Limit
	m.Limit = size("total_vram", "vram", "vram_total", "fb_total")
	m.Usage = size("used_vram", "vram_used", "fb_used")
	m.VisibleLimit, m.VisibleUsage = size("total_visible_vram", "vis_vram"), size("used_visible_vram", "used_vis_vram")
	m.SystemLimit, m.SystemUsage = size("total_gtt", "gtt"), size("used_gtt")
	smidevice.CorrectMemory(m)
	m.Limit = m.Limit.Or(static)
}

func readTemperature(r record, d *gpu.Device) {
	d.Temperature[gpu.SensorEdge] = smitext.Quantity(r.first("edge", "edge_temperature"), smitext.Celsius, "C")
	d.Temperature[gpu.SensorHotspot] = smitext.Quantity(r.first("hotspot", "hotspot_temperature"), smitext.Celsius, "C")
	memory := smitext.MemoryTemperature(r.first("mem", "mem_temperature"))
	if !memory.Known() {
		stacks, _ := r["hbm_stacks"].([]any)
		for _, s := range stacks {
			memory = smitext.Higher(memory, smitext.MemoryTemperature(s))
		}
	}
	d.Temperature[gpu.SensorMemory] = memory
}

// readPower reads the power of the package, which on an APU has the CPU in it. socket_power is the average or the instantaneous power,
// whichever the device has.
func readPower(r record, d *gpu.Device) {
	d.Power.Instant = smitext.Quantity(r.first("current_socket_power"), smitext.Watts, "W")
	d.Power.Draw = smitext.Quantity(r.first("average_socket_power", "socket_power"), smitext.Watts, "W").Or(d.Power.Instant)
	smidevice.CorrectPower(&d.Power, d.Energy)
}

// readClock reads a clock: gfx_0 to gfx_7 since 6.1, gfx before. The first one that runs represents all.
func readClock(r record, clock *gpu.Clock, name string) {
	for i := -1; i < 8; i++ {
		key := name
		if i >= 0 {
			key += "_" + strconv.Itoa(i)
		}
		c := r.section(key)
		if c == nil {
			continue
		}
		speed := smitext.Quantity(c.first("clk", "cur_clk", "current_clk"), smitext.Hertz, "MHz")
		if !speed.Known() {
			continue
		}
		clock.Speed = speed
		if limit := smitext.Quantity(c.first("max_clk"), smitext.Hertz, "MHz"); limit != gpu.Some(0.0) {
			clock.Limit = limit
		}
		return
	}
}
