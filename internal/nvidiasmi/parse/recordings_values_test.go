// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func parseFloat(s string) (float64, error) { return strconv.ParseFloat(s, 64) }

// quantity is the value that a number of the XML becomes, and the factors that convert its units to SI. shared is true if another element
// may become the same value.
type quantity struct {
	units  map[string]float64
	get    func(g *GPU) gpu.Opt[float64]
	shared bool
}

var (
	mebibytes = map[string]float64{"MiB": 1 << 20}
	percents  = map[string]float64{"%": 0.01}
	inCelsius = map[string]float64{"C": 1}
	inWatts   = map[string]float64{"W": 1}
	megahertz = map[string]float64{"MHz": 1e6}
	micros    = map[string]float64{"us": 1e-6}
	plain     = map[string]float64{"": 1}
)

func asFloat(o gpu.Opt[int64]) gpu.Opt[float64] {
	if v, ok := o.Get(); ok {
		return gpu.Some(float64(v))
	}
	return gpu.Opt[float64]{}
}

func totalOf[N gpu.Number](c gpu.Counter[N]) gpu.Opt[float64] {
	if v, ok := c.Get(); ok {
		return gpu.Some(float64(v))
	}
	return gpu.Opt[float64]{}
}

func errorsOf(g *GPU, kind gpu.ErrorType, lifetime bool) gpu.Opt[float64] {
	for _, e := range g.Device.Errors {
		if e.Type == kind && e.Lifetime == lifetime {
			return totalOf(e.Count)
		}
	}
	return gpu.Opt[float64]{}
}

func fanOf(g *GPU) gpu.Opt[float64] {
	if len(g.Device.Fans) == 0 {
		return gpu.Opt[float64]{}
	}
	return g.Device.Fans[0].Ratio
}

// xmlWords are the texts of the XML and the values that they become.
func xmlWords() map[string]func(*GPU) string {
	return map[string]func(*GPU) string{
		"product_name":  func(g *GPU) string { return g.Device.Model },
		"uuid":          func(g *GPU) string { return g.Device.ID },
		"serial":        func(g *GPU) string { return g.Device.Info.Serial },
		"vbios_version": func(g *GPU) string { return g.Device.Info.FirmwareVersion },

		"board_part_number":           func(g *GPU) string { return g.Device.Info.BoardPartNumber },
		"inforom_version/img_version": func(g *GPU) string { return g.Device.Info.InfoROMVersion },
		"fabric/cliqueId":             func(g *GPU) string { return g.Device.Info.FabricClique },
	}
}

// xmlFlags are the flags of the XML and the values that they become.
func xmlFlags() map[string]func(*GPU) gpu.Opt[bool] {
	flags := map[string]func(*GPU) gpu.Opt[bool]{
		"remapped_rows/remapped_row_pending": func(g *GPU) gpu.Opt[bool] { return g.Device.RemappedRows.Pending },
		"remapped_rows/remapped_row_failure": func(g *GPU) gpu.Opt[bool] { return g.Device.RemappedRows.Failed },
		"retired_pages/pending_retirement":   func(g *GPU) gpu.Opt[bool] { return g.Device.RetiredPages.Pending },

		"ecc_errors/aggregate/sram_threshold_exceeded": func(g *GPU) gpu.Opt[bool] { return g.Device.ECC.SRAMThresholdExceeded },
		"fabric/health/route_recovery_in_progress":     condition(gpu.FabricRouteRecovery),
		"fabric/health/route_unhealthy":                condition(gpu.FabricRouteUnhealthy),
		"fabric/health/access_timeout_recovery":        condition(gpu.FabricAccessTimeoutRecovery),
		"fabric/health/summary":                        condition(gpu.FabricUnhealthy),
		"fabric/health/bandwidth":                      condition(gpu.FabricDegradedBandwidth),
		"fabric/health/incorrect_configuration":        condition(gpu.FabricIncorrectConfiguration),
		"persistence_mode":                             enabled(gpu.ModePersistence),
		"mig_mode/current_mig":                         enabled(gpu.ModeMIG),
		"ecc_mode/current_ecc":                         enabled(gpu.ModeECC),
	}
	for name, reason := range map[string]gpu.ThrottleReason{
		"sw_power_cap": gpu.ThrottleSWPowerCap, "hw_slowdown": gpu.ThrottleHWSlowdown, "sync_boost": gpu.ThrottleSyncBoost,
		"sw_thermal_slowdown": gpu.ThrottleSWThermal, "hw_thermal_slowdown": gpu.ThrottleHWThermal,
		"hw_power_brake_slowdown": gpu.ThrottleHWPowerBrake,
	} {
		get := func(g *GPU) gpu.Opt[bool] { return g.Device.Throttle[reason].Active }
		flags["clocks_event_reasons/clocks_event_reason_"+name] = get
		flags["clocks_throttle_reasons/clocks_throttle_reason_"+name] = get
	}
	return flags
}

func condition(c gpu.FabricCondition) func(*GPU) gpu.Opt[bool] {
	return func(g *GPU) gpu.Opt[bool] { return g.Device.Fabric.Conditions[c] }
}

// enabled returns whether a mode with two values is enabled.
func enabled(m gpu.ModeName) func(*GPU) gpu.Opt[bool] {
	return func(g *GPU) gpu.Opt[bool] {
		switch g.Device.Modes[m].Value {
		case "enabled":
			return gpu.Some(true)
		case "disabled":
			return gpu.Some(false)
		}
		return gpu.Opt[bool]{}
	}
}

func locationOf(g *GPU, location gpu.ErrorLocation, kind gpu.ErrorType) gpu.Opt[float64] {
	for _, e := range g.Device.ECC.Locations {
		if e.Location == location && e.Type == kind {
			return totalOf(e.Count)
		}
	}
	return gpu.Opt[float64]{}
}

func voltageOf(g *GPU) gpu.Opt[float64] {
	for _, v := range g.Device.Voltage {
		if v.Location == "gfx" {
			return v.Value
		}
	}
	return gpu.Opt[float64]{}
}

// moreNumbers are numbers that only some boards or versions print.
func moreNumbers(q map[string]quantity) {
	newQuantity := func(units map[string]float64, get func(*gpu.Device) gpu.Opt[float64]) quantity {
		return quantity{units: units, get: func(g *GPU) gpu.Opt[float64] { return get(&g.Device) }}
	}
	either := func(units map[string]float64, get func(*gpu.Device) gpu.Opt[float64]) quantity {
		v := newQuantity(units, get)
		v.shared = true
		return v
	}
	inBanks := map[string]float64{"bank(s)": 1}
	q["bar1_memory_usage/total"] = newQuantity(mebibytes, func(d *gpu.Device) gpu.Opt[float64] { return asFloat(d.Memory.BAR1Limit) })
	q["bar1_memory_usage/used"] = newQuantity(mebibytes, func(d *gpu.Device) gpu.Opt[float64] { return asFloat(d.Memory.BAR1Usage) })
	q["pci/replay_rollover_counter"] = newQuantity(plain, func(d *gpu.Device) gpu.Opt[float64] { return totalOf(d.PCIe.ReplayRollovers) })
	q["gpu_memory_power_readings/average_power_draw"] = either(inWatts, func(d *gpu.Device) gpu.Opt[float64] { return d.Power.Memory })
	for _, readings := range []string{"power_readings", "gpu_power_readings"} {
		q[readings+"/min_power_limit"] = either(inWatts, func(d *gpu.Device) gpu.Opt[float64] { return d.Power.Limit[gpu.LimitMin] })
		q[readings+"/default_power_limit"] = either(inWatts, func(d *gpu.Device) gpu.Opt[float64] { return d.Power.Limit[gpu.LimitDefault] })
	}
	q["encoder_stats/session_count"] = newQuantity(plain, func(d *gpu.Device) gpu.Opt[float64] { return asFloat(d.Encoder.Count) })
	q["fbc_stats/session_count"] = newQuantity(plain, func(d *gpu.Device) gpu.Opt[float64] { return asFloat(d.FrameBuffer.Count) })
	for name, limit := range map[string]gpu.Limit{"max_gpu": gpu.LimitMax, "slow": gpu.LimitDegraded, "max": gpu.LimitCritical} {
		q["temperature/gpu_temp_"+name+"_tlimit_threshold"] = quantity{units: inCelsius, get: func(g *GPU) gpu.Opt[float64] { return g.TLimitPoints[limit] }}
	}
	for name, spares := range map[string]gpu.Spares{
		"max": gpu.SparesMax, "high": gpu.SparesHigh, "partial": gpu.SparesPartial, "low": gpu.SparesLow, "none": gpu.SparesNone,
	} {
		q["remapped_rows/row_remapper_histogram/row_remapper_histogram_"+name] = newQuantity(inBanks, func(d *gpu.Device) gpu.Opt[float64] { return asFloat(d.MemoryBanks[spares]) })
	}
	for kind, words := range map[gpu.ErrorType][2]string{gpu.ErrorCorrected: {"correctable", "single_bit"}, gpu.ErrorUncorrected: {"uncorrectable", "double_bit"}} {
		dram := func(d *gpu.Device) gpu.Opt[float64] { return totalOf(d.ECC.Memory[gpu.MemoryDRAM][kind]) }
		q["ecc_errors/volatile/dram_"+words[0]] = either(plain, dram)
		q["ecc_errors/volatile/"+words[1]+"/device_memory"] = either(plain, dram)
		q["ecc_errors/volatile/sram_"+words[0]] = either(plain, func(d *gpu.Device) gpu.Opt[float64] { return totalOf(d.ECC.Memory[gpu.MemorySRAM][kind]) })
		lifetime := func(g *GPU) gpu.Opt[float64] { return locationOf(g, gpu.LocationDRAM, kind) }
		q["ecc_errors/aggregate/dram_"+words[0]] = quantity{units: plain, get: lifetime, shared: true}
		q["ecc_errors/aggregate/"+words[1]+"/device_memory"] = quantity{units: plain, get: lifetime, shared: true}
		for name, location := range map[string]gpu.ErrorLocation{
			"register_file": gpu.LocationRegisterFile, "l1_cache": gpu.LocationL1, "l2_cache": gpu.LocationL2,
			"texture_memory": gpu.LocationTexture, "texture_shm": gpu.LocationTextureSharedMemory, "cbu": gpu.LocationCBU,
		} {
			q["ecc_errors/aggregate/"+words[1]+"/"+name] = quantity{
				units: plain, shared: true, get: func(g *GPU) gpu.Opt[float64] { return locationOf(g, location, kind) },
			}
		}
	}
	for name, location := range map[string]gpu.ErrorLocation{
		"l2": gpu.LocationL2, "sm": gpu.LocationSM, "microcontroller": gpu.LocationMicrocontroller, "pcie": gpu.LocationPCIe, "other": gpu.LocationOther,
	} {
		q["ecc_errors/aggregate_uncorrectable_sram_sources/sram_"+name] = quantity{
			units: plain, shared: true, get: func(g *GPU) gpu.Opt[float64] { return locationOf(g, location, gpu.ErrorUncorrected) },
		}
	}
}

// xmlNumbers are the numbers of the XML and the values that they become.
func xmlNumbers() map[string]quantity {
	q := map[string]quantity{
		"minor_number": {units: plain, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Minor) }},

		"utilization/gpu_util":     {units: percents, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Utilization[gpu.TaskGeneral] }},
		"utilization/memory_util":  {units: percents, get: func(g *GPU) gpu.Opt[float64] { return g.Device.MemoryController }},
		"utilization/encoder_util": {units: percents, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Utilization[gpu.TaskEncoder] }},
		"utilization/decoder_util": {units: percents, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Utilization[gpu.TaskDecoder] }},
		"utilization/jpeg_util":    {units: percents, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Utilization[gpu.TaskJPEG] }},
		"utilization/ofa_util":     {units: percents, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Utilization[gpu.TaskOpticalFlow] }},

		"fb_memory_usage/total":    {units: mebibytes, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.Memory.Limit) }},
		"fb_memory_usage/used":     {units: mebibytes, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.Memory.Usage) }},
		"fb_memory_usage/reserved": {units: mebibytes, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.Memory.Reserved) }},

		"temperature/gpu_temp":                   {units: inCelsius, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Temperature[gpu.SensorGPU] }},
		"temperature/memory_temp":                {units: inCelsius, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Temperature[gpu.SensorMemory] }},
		"temperature/gpu_temp_tlimit":            {units: inCelsius, get: func(g *GPU) gpu.Opt[float64] { return g.TLimit }},
		"temperature/gpu_temp_slow_threshold":    {units: inCelsius, get: func(g *GPU) gpu.Opt[float64] { return g.Device.TemperatureLimit[gpu.SensorGPU][gpu.LimitDegraded] }},
		"temperature/gpu_temp_max_threshold":     {units: inCelsius, get: func(g *GPU) gpu.Opt[float64] { return g.Device.TemperatureLimit[gpu.SensorGPU][gpu.LimitCritical] }},
		"temperature/gpu_temp_max_gpu_threshold": {units: inCelsius, get: func(g *GPU) gpu.Opt[float64] { return g.Device.TemperatureLimit[gpu.SensorGPU][gpu.LimitMax] }},
		"temperature/gpu_temp_max_mem_threshold": {units: inCelsius, get: func(g *GPU) gpu.Opt[float64] { return g.Device.TemperatureLimit[gpu.SensorMemory][gpu.LimitMax] }},

		"power_readings/power_draw":                {units: inWatts, shared: true, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Power.Draw }},
		"gpu_power_readings/power_draw":            {units: inWatts, shared: true, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Power.Draw }},
		"gpu_power_readings/average_power_draw":    {units: inWatts, shared: true, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Power.Draw }},
		"gpu_power_readings/instant_power_draw":    {units: inWatts, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Power.Instant }},
		"module_power_readings/average_power_draw": {units: inWatts, shared: true, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Power.Module }},
		"power_readings/enforced_power_limit":      {units: inWatts, shared: true, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Power.Limit[gpu.LimitEnforced] }},
		"gpu_power_readings/current_power_limit":   {units: inWatts, shared: true, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Power.Limit[gpu.LimitEnforced] }},

		"power_readings/max_power_limit":     {units: inWatts, shared: true, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Power.Limit[gpu.LimitMax] }},
		"gpu_power_readings/max_power_limit": {units: inWatts, shared: true, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Power.Limit[gpu.LimitMax] }},

		"fan_speed":         {units: percents, get: fanOf},
		"performance_state": {units: plain, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.PerformanceState) }},

		"pci/replay_counter":                                   {units: plain, get: func(g *GPU) gpu.Opt[float64] { return totalOf(g.Device.PCIe.Replays) }},
		"pci/pci_gpu_link_info/pcie_gen/current_link_gen":      {units: plain, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.PCIe.Generation) }},
		"pci/pci_gpu_link_info/pcie_gen/max_link_gen":          {units: plain, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.PCIe.GenerationLimit) }},
		"pci/pci_gpu_link_info/link_widths/current_link_width": {units: plain, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.PCIe.Width) }},
		"pci/pci_gpu_link_info/link_widths/max_link_width":     {units: plain, get: func(g *GPU) gpu.Opt[float64] { return asFloat(g.Device.PCIe.WidthLimit) }},

		"remapped_rows/remapped_row_corr":                            {units: plain, get: func(g *GPU) gpu.Opt[float64] { return totalOf(g.Device.RemappedRows.Corrected) }},
		"remapped_rows/remapped_row_unc":                             {units: plain, get: func(g *GPU) gpu.Opt[float64] { return totalOf(g.Device.RemappedRows.Uncorrected) }},
		"retired_pages/multiple_single_bit_retirement/retired_count": {units: plain, get: func(g *GPU) gpu.Opt[float64] { return totalOf(g.Device.RetiredPages.Corrected) }},
		"retired_pages/double_bit_retirement/retired_count":          {units: plain, get: func(g *GPU) gpu.Opt[float64] { return totalOf(g.Device.RetiredPages.Uncorrected) }},

		"ecc_errors/volatile/single_bit/total":  {units: plain, shared: true, get: func(g *GPU) gpu.Opt[float64] { return errorsOf(g, gpu.ErrorCorrected, false) }},
		"ecc_errors/volatile/double_bit/total":  {units: plain, shared: true, get: func(g *GPU) gpu.Opt[float64] { return errorsOf(g, gpu.ErrorUncorrected, false) }},
		"ecc_errors/aggregate/single_bit/total": {units: plain, shared: true, get: func(g *GPU) gpu.Opt[float64] { return errorsOf(g, gpu.ErrorCorrected, true) }},
		"ecc_errors/aggregate/double_bit/total": {units: plain, shared: true, get: func(g *GPU) gpu.Opt[float64] { return errorsOf(g, gpu.ErrorUncorrected, true) }},
	}
	for name, domain := range map[string]gpu.ClockDomain{
		"graphics_clock": gpu.ClockGraphics, "sm_clock": gpu.ClockSM, "mem_clock": gpu.ClockMemory, "video_clock": gpu.ClockVideo,
	} {
		q["clocks/"+name] = quantity{units: megahertz, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Clocks[domain].Speed }}
		q["max_clocks/"+name] = quantity{units: megahertz, get: func(g *GPU) gpu.Opt[float64] { return g.Device.Clocks[domain].Limit }}
	}
	for name, reason := range map[string]gpu.ThrottleReason{
		"sw_power_cap": gpu.ThrottleSWPowerCap, "sync_boost": gpu.ThrottleSyncBoost, "sw_therm_slowdown": gpu.ThrottleSWThermal,
		"hw_therm_slowdown": gpu.ThrottleHWThermal, "hw_power_brake": gpu.ThrottleHWPowerBrake,
	} {
		q["clocks_event_reasons_counters/clocks_event_reasons_counters_"+name] = quantity{
			units: micros, get: func(g *GPU) gpu.Opt[float64] { return totalOf(g.Device.Throttle[reason].Time) },
		}
	}
	moreNumbers(q)
	return q
}
