// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The keys by which a reading goes, newest first, in lower case.
var (
	keysController = []string{
		// Until 6.1.1 the activity of the memory controller was called the use of memory; the share of memory that is
		// allocated, "GPU Memory Allocated (VRAM%)", came beside it when it was renamed.
		"gpu memory read/write activity (%)", "gpu memory use (%)",
	}
	keysModel = []string{"card series", "device name"}
	// The cap that holds now: the highest that may be set is not printed.
	keyPowerCap    = "max graphics package power (w)"
	keysAverage    = []string{"average graphics package power (w)", "average socket graphics package power (w)"}
	keysCurrent    = []string{"current socket graphics package power (w)", "current graphics package power (w)"}
	keysMemoryTemp = []string{"temperature (sensor memory) (c)", "temperature (sensor mem) (c)"}
	keysHBM        = []string{
		"temperature (sensor hbm 0) (c)", "temperature (sensor hbm 1) (c)",
		"temperature (sensor hbm 2) (c)", "temperature (sensor hbm 3) (c)",
	}
)

// entry makes an entry of a card.
func (c *rocmCard) entry(driver string) entry {
	e := entry{
		index:   c.index,
		unique:  uniqueID(c.value("unique id")),
		profile: strings.ToUpper(label(c.value("compute partition"))),
	}
	e.address, _ = parseAddress(c.value("pci bus"))
	if node, err := strconv.ParseUint(c.value("node id"), 10, 16); err == nil {
		e.order = int(node)
	}
	d := &e.device
	d.Vendor = gpu.AMD
	d.Name = "gpu" + strconv.Itoa(c.index)
	d.Index = gpu.Some(c.index)
	d.Model = model(c.value(keysModel[0]), c.value(keysModel[1]))
	d.Info = gpu.Info{
		Serial:            serial(c.value("serial number")),
		DriverVersion:     driver,
		FirmwareVersion:   label(c.value("vbios version")),
		ComputeCapability: gfxTarget(c.value("gfx version")),
		NUMANode:          numaNode(c.value("(topology) numa affinity")),
	}
	c.readings(d)
	return e
}

func (c *rocmCard) readings(d *gpu.Device) {
	d.Utilization[gpu.TaskGeneral] = quantity(c.value("gpu use (%)"), ratio, "%")
	d.MemoryController = quantity(c.value(keysController...), ratio, "%")
	d.Memory.Limit = whole(quantity(c.value("vram total memory (b)"), octets, "B"))
	d.Memory.Usage = whole(quantity(c.value("vram total used memory (b)"), octets, "B"))
	d.Memory.VisibleLimit = whole(quantity(c.value("vis_vram total memory (b)"), octets, "B"))
	d.Memory.VisibleUsage = whole(quantity(c.value("vis_vram total used memory (b)"), octets, "B"))
	d.Memory.SystemLimit = whole(quantity(c.value("gtt total memory (b)"), octets, "B"))
	d.Memory.SystemUsage = whole(quantity(c.value("gtt total used memory (b)"), octets, "B"))
	unified(&d.Memory)

	d.Temperature[gpu.SensorEdge] = quantity(c.value("temperature (sensor edge) (c)"), celsius, "C")
	d.Temperature[gpu.SensorHotspot] = quantity(c.value("temperature (sensor junction) (c)"), celsius, "C")
	d.Temperature[gpu.SensorMemory] = quantity(c.value(keysMemoryTemp...), celsius, "C").Or(c.hottestHBM())

	average := quantity(c.value(keysAverage...), watts, "W")
	current := quantity(c.value(keysCurrent...), watts, "W")
	d.Power.Draw, d.Power.Instant = average.Or(current), current
	d.Power.Limit[gpu.LimitMax] = powerCap(c.value(keyPowerCap))
	d.Energy = counted(quantity(c.value("accumulated energy (uj)"), joules, "uJ"))
	drawn(&d.Power, d.Energy)

	d.Clocks[gpu.ClockGraphics].Speed = c.clock("sclk")
	d.Clocks[gpu.ClockMemory].Speed = c.clock("mclk")
	d.Clocks[gpu.ClockVideo].Speed = c.clock("vclk")
	c.pcie(d)

	// A fan that stands still is not printed, no more than one that is not there.
	if fan := quantity(c.value("fan speed (%)"), ratio, "%"); fan.Known() {
		d.Fans = []gpu.Fan{{Location: "fan0", Ratio: fan}}
	}
	if replays := quantity(c.value("pcie replay count"), count, ""); replays.Known() {
		d.Errors = append(d.Errors, gpu.ErrorCount{Type: gpu.ErrorPCIeReplay, Count: total(replays)})
	}
}

// clock returns the speed of a clock from one of its forms: "(1500Mhz)", "550Mhz" (ROCm 3), "1 (500Mhz)", "S: (137Mhz)".
func (c *rocmCard) clock(name string) gpu.Opt[float64] {
	for _, key := range [...]string{name + " clock speed", name + " clock level"} {
		text := c.value(key)
		if open := strings.IndexByte(text, '('); open >= 0 {
			text = strings.TrimSuffix(text[open+1:], ")")
		}
		if speed := quantity(text, hertz, ""); speed.Known() {
			return speed
		}
	}
	return gpu.Opt[float64]{}
}

// pcie reads the link from "1 (16.0GT/s x16)".
func (c *rocmCard) pcie(d *gpu.Device) {
	_, text, ok := strings.Cut(c.value("pcie clock level"), "(")
	if !ok {
		return
	}
	speed, lanes, _ := strings.Cut(strings.TrimSuffix(text, ")"), " x")
	d.PCIe.Generation = generation(quantity(speed, transfers, ""))
	d.PCIe.Width = linkWidth(lanes)
}

// hottestHBM returns the temperature of the hottest stack, where the memory has no sensor of its own.
func (c *rocmCard) hottestHBM() gpu.Opt[float64] {
	var result gpu.Opt[float64]
	for _, key := range keysHBM {
		result = higher(result, quantity(c.value(key), celsius, "C"))
	}
	return result
}

// powerCap returns the cap of power. 0 is how a device without one of its own says so: an APU, the second die of an MI250.
func powerCap(v any) gpu.Opt[float64] {
	limit := quantity(v, watts, "W")
	if limit == gpu.Some(0.0) {
		return gpu.Opt[float64]{}
	}
	return limit
}

// higher returns the higher of two values, or the one that is known.
func higher(a, b gpu.Opt[float64]) gpu.Opt[float64] {
	x, okX := a.Get()
	y, okY := b.Get()
	if okY && (!okX || y > x) {
		return b
	}
	return a
}

// linkWidth returns a number of lanes.
func linkWidth(v any) gpu.Opt[int64] {
	lanes := whole(quantity(v, count, ""))
	if n, ok := lanes.Get(); !ok || n < 1 || n > 32 {
		return gpu.Opt[int64]{}
	}
	return lanes
}

// numaNode returns the node that a device is attached to. -1, also as 32 or 16 bits without a sign, is how the kernel says that there is
// none. rocm-smi's "Numa Node" is not it, but the nearest node with a processor.
func numaNode(v any) gpu.Opt[int64] {
	node := whole(quantity(v, count, ""))
	if n, ok := node.Get(); !ok || n >= 1<<15-1 {
		return gpu.Opt[int64]{}
	}
	return node
}
