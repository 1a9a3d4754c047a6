// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// amdListed is what amd-smi list says of one device: which it is.
type amdListed struct {
	index     int
	address   address
	unique    string
	partition gpu.Opt[int]
	order     int
	name      string
	aliases   []string
}

// same tells whether a later list shows the same device under the number.
func (l *amdListed) same(o *amdListed) bool {
	return l.index == o.index && l.address == o.address && l.unique == o.unique && l.partition == o.partition
}

// parseList reads the records of amd-smi list. card and hip_uuid are there with -e only, since ROCm 6.4.
func parseList(records []record) []amdListed {
	list := make([]amdListed, 0, len(records))
	for _, r := range records {
		index, ok := r.integer("gpu")
		if !ok || index >= maxDevices || slices.ContainsFunc(list, func(l amdListed) bool { return l.index == index }) {
			continue
		}
		l := amdListed{
			index:  index,
			unique: cmp.Or(hipUUID(r.text("hip_uuid")), uuidSerial(r.text("uuid"))),
			name:   "gpu" + strconv.Itoa(index),
		}
		if r.text("uuid") != blankUUID {
			l.address, _ = parseAddress(r.text("bdf"))
		}
		if n, ok := r.integer("partition_id"); ok && n < maxDevices {
			l.partition = gpu.Some(n)
		}
		if n, ok := r.integer("node_id"); ok {
			l.order = n
		}
		if card := r.text("card"); drmNode(card, "card") {
			l.name = card
			l.aliases = append(l.aliases, card)
		}
		if render := r.text("render"); drmNode(render, "renderD") {
			l.aliases = append(l.aliases, render)
		}
		list = append(list, l)
	}
	return list
}

// amdStatic is what amd-smi static says of one device and that does not change with every read.
type amdStatic struct {
	unique    string
	address   address
	partition gpu.Opt[int]
	profile   string
	device    gpu.Device // model, info, limits
	exhausted bool       // more bad pages than the threshold
}

// parseStatic reads the records of amd-smi static, by device number.
func parseStatic(records []record) map[int]amdStatic {
	result := make(map[int]amdStatic, len(records))
	for _, r := range records {
		if index, ok := r.integer("gpu"); ok && index < maxDevices {
			result[index] = staticOf(r)
		}
	}
	return result
}

func staticOf(r record) amdStatic {
	asic, board, bus := r.section("asic"), r.section("board"), r.section("bus")
	firmware, driver, partition := r.section("ifwi"), r.section("driver"), r.section("partition")
	if firmware == nil {
		firmware = r.section("vbios") // until 7.0
	}
	s := amdStatic{
		unique:    asicSerial(asic.text("asic_serial")),
		profile:   strings.ToUpper(label(partition.text("accelerator_partition", "compute_partition"))),
		exhausted: strings.EqualFold(r.section("ras").text("bad_page_threshold_exceeded"), "true"),
	}
	if !decimal(asic.text("asic_serial")) {
		s.address, _ = parseAddress(bus.text("bdf"))
	}
	if n, ok := partition.integer("partition_id"); ok && n < maxDevices {
		s.partition = gpu.Some(n)
	}
	s.device.Model = model(asic.text("market_name"), board.text("product_name"))
	s.device.Info = gpu.Info{
		Serial:        serial(board.text("product_serial")),
		DriverVersion: driverVersion(driver.text("version", "driver_version")),
		// The part number is what the driver calls the version of the VBIOS.
		FirmwareVersion:   label(cmp.Or(firmware.text("part_number"), firmware.text("version"))),
		ComputeCapability: gfxTarget(asic.text("target_graphics_version")),
		NUMANode:          numaNode(r.at("numa", "affinity")),
	}
	s.device.PCIe.GenerationLimit = generation(pcieSpeed(bus.first("max_pcie_speed", "pcie_speed")))
	s.device.PCIe.WidthLimit = linkWidth(bus.first("max_pcie_width", "max_pcie_lanes", "pcie_lanes"))
	s.device.Memory.Limit = whole(quantity(r.at("vram", "size"), octets, "MB"))
	s.limits(r.section("limit"))
	return s
}

// renumber keeps of what is known by number that of the devices which are listed under any number now, until it is read again.
func (s *AMD) renumber(listed []amdListed) {
	before := s.static
	s.static, s.stale = make(map[int]amdStatic, len(listed)), true
	for i := range listed {
		l := listed[i]
		for _, old := range s.listed {
			l.index = old.index
			if known, ok := before[old.index]; ok && l.address != (address{}) && l.same(&old) {
				s.static[listed[i].index] = known
			}
		}
	}
}

// limits reads the section limit. The limit of power is the cap that holds now, not the highest that may be set. Until 6.0
// the limits of temperature had no other name than the sensor's and were the ones at which the device slows down.
func (s *amdStatic) limits(r record) {
	power := r.first("socket_power", "current_power", "power")
	if ppt := r.section("ppt0"); ppt != nil { // since 7.2
		power = ppt["socket_power_limit"]
	}
	s.device.Power.Limit[gpu.LimitMax] = powerCap(power)
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
		limit := quantity(r.first(t.keys...), celsius, "C")
		if c, ok := limit.Get(); ok && c > 0 { // 0 is a sensor that is not there
			s.device.TemperatureLimit[t.sensor][t.limit] = limit
		}
	}
}

// pcieSpeed returns the speed of a lane. Values without a unit are in MT/s until 6.0, in GT/s later; no link is as fast
// as 1000 GT/s nor as slow as 1000 MT/s.
func pcieSpeed(v any) gpu.Opt[float64] {
	unitless := "GT/s"
	if n, _, ok := numberOf(v); ok && n >= 1000 {
		unitless = "MT/s"
	}
	return quantity(v, transfers, unitless)
}

// drmNode tells the name of a DRM node.
func drmNode(name, prefix string) bool {
	digits, ok := strings.CutPrefix(name, prefix)
	_, err := strconv.ParseUint(digits, 10, 16)
	return ok && err == nil
}

// executable returns the name of a program, of which amd-smi prints the path.
func executable(name string) string {
	name = label(name)
	if strings.HasPrefix(name, "/") {
		return path.Base(strings.TrimSuffix(name, " (deleted)"))
	}
	return name
}
