// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"cmp"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// staticInfo is what amd-smi static prints about one device. It does not change at each read.
type staticInfo struct {
	unique     string
	address    smitext.Address
	partition  gpu.Opt[int]
	profile    string
	device     gpu.Device // model, info, limits, bad pages
	unified    bool       // its memory is the machine's
	exhausted  bool       // more bad pages than the threshold
	withoutRAS bool       // the GPU does not count memory errors
	ras        bool       // what it can do about memory errors is known
}

// limits reads the section limit. It has the power limit in force, and the maximum and minimum that can be set. Until 6.0 a temperature
// limit was named after its sensor and was the one at which the device slows down.
func (s *staticInfo) limits(r record) {
	power, highest, lowest := r.first("socket_power", "current_power", "power"), r.first("max_power"), r.first("min_power")
	if ppt := r.section("ppt0"); ppt != nil { // since 7.2
		power, highest, lowest = ppt["socket_power_limit"], ppt["max_power_limit"], ppt["min_power_limit"]
	}
	s.device.Power.Limit[gpu.LimitEnforced] = smitext.PowerCap(power)
	s.device.Power.Limit[gpu.LimitMax] = smitext.PowerCap(highest)
	s.device.Power.Limit[gpu.LimitMin] = smitext.PowerCap(lowest)
	for _, t := range [...]struct {
		sensor gpu.Sensor
		limit  gpu.Limit
		keys   []string
	}{
		{gpu.SensorEdge, gpu.LimitDegraded, []string{"slowdown_edge_temperature", "temperature_edge"}},
		{gpu.SensorHotspot, gpu.LimitDegraded, []string{"slowdown_hotspot_temperature", "temperature_junction"}},
		{gpu.SensorMemory, gpu.LimitDegraded, []string{"slowdown_vram_temperature", "temperature_vram"}},
		{gpu.SensorEdge, gpu.LimitCritical, []string{"shutdown_edge_temperature"}},
		{gpu.SensorHotspot, gpu.LimitCritical, []string{"shutdown_hotspot_temperature"}},
		{gpu.SensorMemory, gpu.LimitCritical, []string{"shutdown_vram_temperature"}},
	} {
		limit := smitext.Quantity(r.first(t.keys...), smitext.Celsius, "C")
		if c, ok := limit.Get(); ok && c > 0 { // 0 is a sensor that is not there
			s.device.TemperatureLimit[t.sensor][t.limit] = limit
		}
	}
}

// parseStatic reads the records of amd-smi static, by device number.
func parseStatic(records []record) map[int]staticInfo {
	result := make(map[int]staticInfo, len(records))
	for _, r := range records {
		if index, ok := r.integer("gpu"); ok && index < smidevice.MaxDevices {
			result[index] = staticOf(r)
		}
	}
	return result
}

func staticOf(r record) staticInfo {
	asic, board, bus := r.section("asic"), r.section("board"), r.section("bus")
	firmware, driver, partition := r.section("ifwi"), r.section("driver"), r.section("partition")
	if firmware == nil {
		firmware = r.section("vbios") // until 7.0
	}
	s := staticInfo{
		unique:     smitext.ASICSerial(asic.text("asic_serial")),
		profile:    strings.ToUpper(smitext.Label(partition.text("accelerator_partition", "compute_partition"))),
		exhausted:  strings.EqualFold(r.section("ras").text("bad_page_threshold_exceeded"), "true"),
		withoutRAS: r["ras"] != nil && !hasValue(r["ras"]),
		ras:        hasValue(r["ras"]),
		unified:    unifiedMemory(r.section("vram").text("type")),
	}
	if !smitext.DecimalSerial(asic.text("asic_serial")) {
		s.address, _ = smitext.ParseAddress(bus.text("bdf"))
	}
	if n, ok := partition.integer("partition_id"); ok && n < smidevice.MaxDevices {
		s.partition = gpu.Some(n)
	}
	s.device.Model = smitext.Model(asic.text("market_name"), board.text("product_name"))
	s.device.Info = gpu.Info{
		Serial:        smitext.Serial(board.text("product_serial")),
		DriverVersion: smitext.DriverVersion(driver.text("version", "driver_version")),
		// The part number is what the driver calls the version of the VBIOS.
		FirmwareVersion:   cmp.Or(gpu.FirmwareVersion(smitext.Label(firmware.text("part_number"))), gpu.FirmwareVersion(smitext.Label(firmware.text("version")))),
		ComputeCapability: smitext.GFXTarget(asic.text("target_graphics_version")),
		NUMANode:          smitext.NUMANode(r.lookup("numa", "affinity")),
		BoardPartNumber:   smitext.Label(board.text("model_number")),
		MemoryPartition:   strings.ToUpper(smitext.Label(partition.text("memory_partition"))),
	}
	s.device.Info.Architecture = gpu.AMDArchitecture(s.device.Info.ComputeCapability)
	s.device.RetiredPages.BadLimit = smitext.Whole(smitext.Quantity(r.lookup("ras", "bad_page_threshold"), smitext.Count, ""))
	s.device.PCIe.GenerationLimit = smitext.PCIeGeneration(pcieSpeed(bus.first("max_pcie_speed", "pcie_speed")))
	s.device.PCIe.WidthLimit = smitext.LinkWidth(bus.first("max_pcie_width", "max_pcie_lanes", "pcie_lanes"))
	s.device.Memory.Limit = smitext.Whole(smitext.Quantity(r.lookup("vram", "size"), smitext.Bytes, "MB"))
	smidevice.CorrectMemory(&s.device.Memory)
	s.limits(r.section("limit"))
	if s.unified {
		s.device.Power = gpu.Power{} // the limits are the limits of the package
	}
	return s
}

// unifiedMemory reports whether a type of memory belongs to a machine, and not to a graphics card: DDR5, LPDDR5. The names of GDDR6 and
// HBM3 start differently.
func unifiedMemory(technology string) bool {
	technology = strings.ToUpper(technology)
	return strings.HasPrefix(technology, "DDR") || strings.HasPrefix(technology, "LPDDR")
}

// renumbered returns what static printed, by the numbers that the same devices have in a later list.
func renumbered(before map[int]staticInfo, listed, later []listRecord) map[int]staticInfo {
	result := make(map[int]staticInfo, len(later))
	for i := range later {
		l := later[i]
		for _, old := range listed {
			l.index = old.index
			if last, ok := before[old.index]; ok && l.address != (smitext.Address{}) && l.same(&old) {
				result[later[i].index] = last
			}
		}
	}
	return result
}
