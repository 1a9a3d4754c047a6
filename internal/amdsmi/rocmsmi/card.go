// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The keys under which versions print a quantity, newest first, in lower case.
var (
	keysController = []string{
		// Until 6.1.1 the activity of the memory controller was called the use of memory. When it was renamed, the share of memory that
		// is allocated, "GPU Memory Allocated (VRAM%)", was added.
		"gpu memory read/write activity (%)", "gpu memory use (%)",
	}
	// The power limit in force. The highest that can be set is not printed.
	keyPowerCap    = "max graphics package power (w)"
	keysAverage    = []string{"average graphics package power (w)", "average socket graphics package power (w)"}
	keysCurrent    = []string{"current socket graphics package power (w)", "current graphics package power (w)"}
	keysMemoryTemp = []string{"temperature (sensor memory) (c)", "temperature (sensor mem) (c)"}
	keysHBM        = []string{
		"temperature (sensor hbm 0) (c)", "temperature (sensor hbm 1) (c)",
		"temperature (sensor hbm 2) (c)", "temperature (sensor hbm 3) (c)",
	}
)

// card is one card. Keys are in lower case and without the colon at the end of the keys of clocks.
type card struct {
	index  int
	values map[string]string
}

// value returns the value of the first of several keys that has one.
func (c *card) value(keys ...string) string {
	for _, k := range keys {
		if v := c.values[k]; smitext.Meaningful(v) {
			return v
		}
	}
	return ""
}

// listed returns the device that a card is.
func (c *card) listed(driver string) smidevice.Listed {
	e := smidevice.Listed{
		Number:   c.index,
		UniqueID: smitext.UniqueID(c.value("unique id")),
		Profile:  strings.ToUpper(smitext.Label(c.value("compute partition"))),
	}
	e.Address, _ = smitext.ParseAddress(c.value("pci bus"))
	if node, err := strconv.ParseUint(c.value("node id"), 10, 16); err == nil {
		e.Order = int(node)
	}
	d := &e.Device
	d.Vendor = gpu.AMD
	d.Name = "gpu" + strconv.Itoa(c.index)
	d.Index, d.CurrentIndex = gpu.Some(c.index), gpu.Some(c.index)
	d.Model = c.model()
	d.Info = gpu.Info{
		Serial:            smitext.Serial(c.value("serial number")),
		DriverVersion:     driver,
		FirmwareVersion:   gpu.FirmwareVersion(smitext.Label(c.value("vbios version"))),
		ComputeCapability: smitext.GFXTarget(c.value("gfx version")),
		NUMANode:          smitext.NUMANode(c.value("(topology) numa affinity")),
		MemoryPartition:   strings.ToUpper(smitext.Label(c.value("memory partition"))),
	}
	d.Info.Architecture = gpu.AMDArchitecture(d.Info.ComputeCapability)
	c.readings(d)
	if message := c.unreachable(); message != "" {
		d.AddFault(gpu.FaultUnreachable, message)
	}
	return e
}

// model returns the name of the model. The card's series may be a list of the models with its chip, as "Navi 22 [Radeon RX 6700/6700 XT /
// 6800M]"; the card's model is then better, if it is a name.
func (c *card) model() string {
	series, device, model := c.value("card series"), c.value("device name"), c.value("card model")
	if strings.Contains(series, "/") {
		return smitext.Model(device, model, series)
	}
	return smitext.Model(series, device)
}

// unreachable returns what rocm-smi prints instead of the readings of a card, if it prints an error and not one reading; empty otherwise.
func (c *card) unreachable() string {
	var message string
	for _, key := range slices.Sorted(maps.Keys(c.values)) {
		if v := c.values[key]; smitext.IsError(v) {
			message = smitext.Bounded(key + ": " + v)
			break
		}
	}
	var d gpu.Device
	if c.readings(&d); message == "" || !reflect.DeepEqual(d, gpu.Device{}) {
		return ""
	}
	return "rocm-smi prints an error instead of values: " + message
}

func (c *card) readings(d *gpu.Device) {
	d.Utilization[gpu.TaskGeneral] = smitext.Quantity(c.value("gpu use (%)"), smitext.Ratio, "%")
	d.MemoryController = smitext.Quantity(c.value(keysController...), smitext.Ratio, "%")
	d.Memory.Limit = smitext.Whole(smitext.Quantity(c.value("vram total memory (b)"), smitext.Bytes, "B"))
	d.Memory.Usage = smitext.Whole(smitext.Quantity(c.value("vram total used memory (b)"), smitext.Bytes, "B"))
	d.Memory.VisibleLimit = smitext.Whole(smitext.Quantity(c.value("vis_vram total memory (b)"), smitext.Bytes, "B"))
	d.Memory.VisibleUsage = smitext.Whole(smitext.Quantity(c.value("vis_vram total used memory (b)"), smitext.Bytes, "B"))
	d.Memory.SystemLimit = smitext.Whole(smitext.Quantity(c.value("gtt total memory (b)"), smitext.Bytes, "B"))
	d.Memory.SystemUsage = smitext.Whole(smitext.Quantity(c.value("gtt total used memory (b)"), smitext.Bytes, "B"))
	smidevice.CorrectMemory(&d.Memory)

	d.Temperature[gpu.SensorEdge] = smitext.Quantity(c.value("temperature (sensor edge) (c)"), smitext.Celsius, "C")
	d.Temperature[gpu.SensorHotspot] = smitext.Quantity(c.value("temperature (sensor junction) (c)"), smitext.Celsius, "C")
	var hottest gpu.Opt[float64]
	for i, key := range keysHBM {
		t := smitext.MemoryTemperature(c.value(key))
		if hottest = smitext.Higher(hottest, t); t.Known() {
			d.TemperatureDetail = append(d.TemperatureDetail, gpu.SensorValue{Location: "hbm" + strconv.Itoa(i), Value: t})
		}
	}
	d.Temperature[gpu.SensorMemory] = smitext.MemoryTemperature(c.value(keysMemoryTemp...)).Or(hottest)

	average := smitext.Quantity(c.value(keysAverage...), smitext.Watts, "W")
	current := smitext.Quantity(c.value(keysCurrent...), smitext.Watts, "W")
	d.Power.Draw, d.Power.Instant = average.Or(current), current
	d.Power.Limit[gpu.LimitEnforced] = smitext.PowerCap(c.value(keyPowerCap))
	d.Energy = smidevice.EnergyTotal(smitext.Quantity(c.value("accumulated energy (uj)"), smitext.Joules, "uJ"))
	smidevice.CorrectPower(&d.Power, d.Energy)

	d.Clocks[gpu.ClockGraphics].Speed = c.clock("sclk")
	d.Clocks[gpu.ClockMemory].Speed = c.clock("mclk")
	d.Clocks[gpu.ClockVideo].Speed = c.clock("vclk")
	c.pcie(d)

	// A stopped fan is not printed, and neither is one that does not exist.
	d.Fans = smitext.Fans(c.value("fan speed (%)"), c.value("fan rpm"))
	if v := smitext.Quantity(c.value("voltage (mv)"), smitext.Volts, "mV"); v.Known() {
		d.Voltage = []gpu.SensorValue{{Location: "gfx", Value: v}}
	}
	d.PCIe.Replays = smitext.Total(smitext.Quantity(c.value("pcie replay count"), smitext.Count, ""))
}

// clock returns the speed of a clock from one of its forms: "(1500Mhz)", "550Mhz" (ROCm 3), "1 (500Mhz)", "S: (137Mhz)".
func (c *card) clock(name string) gpu.Opt[float64] {
	for _, key := range [...]string{name + " clock speed", name + " clock level"} {
		text := c.value(key)
		if open := strings.IndexByte(text, '('); open >= 0 {
			text = strings.TrimSuffix(text[open+1:], ")")
		}
		if speed := smitext.Quantity(text, smitext.Hertz, ""); speed.Known() {
			return speed
		}
	}
	return gpu.Opt[float64]{}
}

// pcie reads the link from "1 (16.0GT/s x16)".
func (c *card) pcie(d *gpu.Device) {
	_, text, ok := strings.Cut(c.value("pcie clock level"), "(")
	if !ok {
		return
	}
	speed, lanes, _ := strings.Cut(strings.TrimSuffix(text, ")"), " x")
	d.PCIe.Generation = smitext.PCIeGeneration(smitext.Quantity(speed, smitext.Transfers, ""))
	d.PCIe.Width = smitext.LinkWidth(lanes)
}
