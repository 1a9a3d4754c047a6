// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// utilizationFields returns utilization and memory. Before driver 510 there is no reserved memory, and the used memory includes it.
func utilizationFields() []Field {
	task := func(t gpu.Task) setter {
		return fraction(func(b *builder) *gpu.Opt[float64] { return &device(b).Utilization[t] })
	}
	memory := func(target func(*gpu.Memory) *gpu.Opt[int64]) setter {
		return integerOf(unitBytes, func(b *builder) *gpu.Opt[int64] { return target(&device(b).Memory) })
	}
	controller := fraction(func(b *builder) *gpu.Opt[float64] { return &device(b).MemoryController })
	return []Field{
		basic("utilization.gpu", gpu.GroupUtilization, "utilization/gpu_util", task(gpu.TaskGeneral)),
		basic("utilization.memory", gpu.GroupUtilization, "utilization/memory_util", controller),
		column("utilization.encoder", gpu.GroupMediaUtilization, "utilization/encoder_util", task(gpu.TaskEncoder)),
		column("utilization.decoder", gpu.GroupMediaUtilization, "utilization/decoder_util", task(gpu.TaskDecoder)),
		column("utilization.jpeg", gpu.GroupMediaUtilization, "utilization/jpeg_util", task(gpu.TaskJPEG)),
		column("utilization.ofa", gpu.GroupMediaUtilization, "utilization/ofa_util", task(gpu.TaskOpticalFlow)),
		basic("memory.total", gpu.GroupMemory, "fb_memory_usage/total", memory(func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Limit })),
		basic("memory.used", gpu.GroupMemory, "fb_memory_usage/used", memory(func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Usage })),
		column("memory.reserved", gpu.GroupMemory, "fb_memory_usage/reserved", memory(func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Reserved })),
		column("protected_memory.used", gpu.GroupProtectedMemory, "cc_protected_memory_usage/used",
			memory(func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Protected })),
		column("protected_memory.total", gpu.GroupProtectedMemory, "cc_protected_memory_usage/total",
			integerOf(unitBytes, func(b *builder) *gpu.Opt[int64] { return &b.parts.protectedTotal })),
		xmlOnly("bar1.total", "bar1_memory_usage/total", memory(func(m *gpu.Memory) *gpu.Opt[int64] { return &m.BAR1Limit })),
		xmlOnly("bar1.used", "bar1_memory_usage/used", memory(func(m *gpu.Memory) *gpu.Opt[int64] { return &m.BAR1Usage })),
	}
}

// thermalFields returns temperature, power, voltage and fans.
//
// gpu_temp_tlimit (T.Limit) falls as the GPU gets hotter. The *_tlimit_threshold elements are points on that same scale, most of them negative,
// and not temperatures: at gpu_temp_max_gpu_tlimit_threshold the GPU is at its max operating temperature, at gpu_temp_slow_tlimit_threshold it
// slows down, at gpu_temp_max_tlimit_threshold it shuts down. T.Limit alone does not say how far any of the limits is. Of the memory's own scale
// the tool prints only a point (gpu_temp_max_mem_tlimit_threshold), and not what is left.
//
// The power of the memory is a part of the GPU's. The limits of the module are not read.
func thermalFields() []Field {
	temperature := func(s gpu.Sensor) setter {
		return celsius(func(b *builder) *gpu.Opt[float64] { return &device(b).Temperature[s] })
	}
	limit := func(s gpu.Sensor, l gpu.Limit) setter { // GPUs without the limit print 0
		return unlessZero(unitCelsius, celsius(func(b *builder) *gpu.Opt[float64] { return &device(b).TemperatureLimit[s][l] }))
	}
	tLimitPoint := func(l gpu.Limit) setter {
		return celsius(func(b *builder) *gpu.Opt[float64] { return &b.gpu.TLimitPoints[l] })
	}
	power := func(target func(*parts) *gpu.Opt[float64]) setter {
		return watts(func(b *builder) *gpu.Opt[float64] { return target(&b.parts) })
	}
	powerCap := func(target func(*parts) *gpu.Opt[float64]) setter {
		return powerLimit(func(b *builder) *gpu.Opt[float64] { return target(&b.parts) })
	}
	powerCapOf := func(l gpu.Limit) setter {
		return powerLimit(func(b *builder) *gpu.Opt[float64] { return &device(b).Power.Limit[l] })
	}
	inXML := func(element string) string { return "power_readings/" + element + " gpu_power_readings/" + element }
	const detail = gpu.GroupPowerDetail
	return []Field{
		basic("temperature.gpu", gpu.GroupTemperature, "temperature/gpu_temp", temperature(gpu.SensorGPU)),
		column("temperature.memory", gpu.GroupTemperature, "temperature/memory_temp", temperature(gpu.SensorMemory)),
		column("temperature.gpu.tlimit", gpu.GroupTemperatureLimits, "temperature/gpu_temp_tlimit",
			celsius(func(b *builder) *gpu.Opt[float64] { return &b.gpu.TLimit })),
		xmlOnly("temperature.max.tlimit", "temperature/gpu_temp_max_gpu_tlimit_threshold", tLimitPoint(gpu.LimitMax)),
		xmlOnly("temperature.slowdown.tlimit", "temperature/gpu_temp_slow_tlimit_threshold", tLimitPoint(gpu.LimitDegraded)),
		xmlOnly("temperature.shutdown.tlimit", "temperature/gpu_temp_max_tlimit_threshold", tLimitPoint(gpu.LimitCritical)),
		xmlOnly("temperature.slowdown", "temperature/gpu_temp_slow_threshold", limit(gpu.SensorGPU, gpu.LimitDegraded)),
		xmlOnly("temperature.shutdown", "temperature/gpu_temp_max_threshold", limit(gpu.SensorGPU, gpu.LimitCritical)),
		xmlOnly("temperature.max", "temperature/gpu_temp_max_gpu_threshold", limit(gpu.SensorGPU, gpu.LimitMax)),
		xmlOnly("temperature.memory.max", "temperature/gpu_temp_max_mem_threshold", limit(gpu.SensorMemory, gpu.LimitMax)),

		basic("power.draw", gpu.GroupPower, inXML("power_draw"), power(func(p *parts) *gpu.Opt[float64] { return &p.power.chosen })),
		column("power.draw.average gpu.power.draw.average", gpu.GroupPower, inXML("average_power_draw"),
			power(func(p *parts) *gpu.Opt[float64] { return &p.power.average })),
		column("power.draw.instant gpu.power.draw.instant", gpu.GroupPower|detail, inXML("instant_power_draw"),
			power(func(p *parts) *gpu.Opt[float64] { return &p.power.instant })),
		column("module.power.draw.average", detail, "module_power_readings/average_power_draw",
			power(func(p *parts) *gpu.Opt[float64] { return &p.module.average })),
		column("module.power.draw.instant", detail, "module_power_readings/instant_power_draw",
			power(func(p *parts) *gpu.Opt[float64] { return &p.module.instant })),
		xmlOnly("module.power.draw", "module_power_readings/power_draw", power(func(p *parts) *gpu.Opt[float64] { return &p.module.chosen })),
		xmlOnly("memory.power.draw", "gpu_memory_power_readings/power_draw", power(func(p *parts) *gpu.Opt[float64] { return &p.memory.chosen })),
		xmlOnly("memory.power.draw.average", "gpu_memory_power_readings/average_power_draw", power(func(p *parts) *gpu.Opt[float64] { return &p.memory.average })),
		xmlOnly("memory.power.draw.instant", "gpu_memory_power_readings/instant_power_draw", power(func(p *parts) *gpu.Opt[float64] { return &p.memory.instant })),
		basic("enforced.power.limit gpu.power.current_limit", gpu.GroupPowerLimit, inXML("enforced_power_limit")+" "+inXML("current_power_limit"),
			powerCap(func(p *parts) *gpu.Opt[float64] { return &p.enforced })),
		basic("power.limit gpu.power.requested_limit", gpu.GroupPowerLimit, inXML("power_limit")+" "+inXML("requested_power_limit"),
			powerCap(func(p *parts) *gpu.Opt[float64] { return &p.requested })),
		column("power.max_limit gpu.power.max_limit", gpu.GroupPowerLimit, inXML("max_power_limit"), powerCap(func(p *parts) *gpu.Opt[float64] { return &p.highest })),
		column("power.min_limit gpu.power.min_limit", gpu.GroupPowerLimit, inXML("min_power_limit"), powerCapOf(gpu.LimitMin)),
		column("power.default_limit gpu.power.default_limit", gpu.GroupPowerLimit, inXML("default_power_limit"), powerCapOf(gpu.LimitDefault)),
		xmlOnly("voltage.graphics", "voltage/graphics_volt", setVoltage),
		basic("fan.speed", gpu.GroupFans, "fan_speed", setFan),
	}
}

// clockFields returns clocks and what limits them.
func clockFields() []Field {
	speed := func(c gpu.ClockDomain) setter {
		return hertz(func(b *builder) *gpu.Opt[float64] { return &device(b).Clocks[c].Speed })
	}
	limit := func(c gpu.ClockDomain) setter {
		return hertz(func(b *builder) *gpu.Opt[float64] { return &device(b).Clocks[c].Limit })
	}
	fields := []Field{
		basic("pstate", gpu.GroupPerformanceState, "performance_state", setPState),
		basic("clocks.current.graphics clocks.gr", gpu.GroupClocks, "clocks/graphics_clock", speed(gpu.ClockGraphics)),
		basic("clocks.current.sm clocks.sm", gpu.GroupClocks, "clocks/sm_clock", speed(gpu.ClockSM)),
		basic("clocks.current.memory clocks.mem", gpu.GroupClocks, "clocks/mem_clock", speed(gpu.ClockMemory)),
		basic("clocks.current.video clocks.video", gpu.GroupClocks, "clocks/video_clock", speed(gpu.ClockVideo)),
		basic("clocks.max.graphics clocks.max.gr", gpu.GroupClockLimits, "max_clocks/graphics_clock", limit(gpu.ClockGraphics)),
		basic("clocks.max.sm", gpu.GroupClockLimits, "max_clocks/sm_clock", limit(gpu.ClockSM)),
		basic("clocks.max.memory clocks.max.mem", gpu.GroupClockLimits, "max_clocks/mem_clock", limit(gpu.ClockMemory)),
		xmlOnly("clocks.max.video", "max_clocks/video_clock", limit(gpu.ClockVideo)),
	}
	for _, r := range throttleReasons {
		fields = append(fields, column("clocks_event_reasons."+r.active+" clocks_throttle_reasons."+r.active, gpu.GroupThrottle,
			"clocks_event_reasons/clocks_event_reason_"+r.active+" clocks_throttle_reasons/clocks_throttle_reason_"+r.active,
			boolOf(func(b *builder) *gpu.Opt[bool] { return &device(b).Throttle[r.reason].Active })))
	}
	for _, r := range throttleReasons {
		if r.counter == "" {
			continue
		}
		elements := "clocks_event_reasons_counters/clocks_event_reasons_counters_" + r.counter
		if r.short != "" {
			elements += " clocks_event_reasons_counters/clocks_event_reasons_counters_" + r.short
		}
		fields = append(fields, column("clocks_event_reasons_counters."+r.counter, gpu.GroupThrottleTime, elements, throttleTime(r.reason)))
	}
	return fields
}

// throttleReasons are the throttle reasons that the tool prints. Idle, application and display clocks do not throttle.
var throttleReasons = []struct {
	reason  gpu.ThrottleReason
	active  string // its name
	counter string // the name of its counter, which is empty if there is no counter
	short   string // shortened name of the counter, if XML has one
}{
	{gpu.ThrottleSWPowerCap, "sw_power_cap", "sw_power_cap", ""},
	{gpu.ThrottleHWSlowdown, "hw_slowdown", "", ""},
	{gpu.ThrottleSyncBoost, "sync_boost", "sync_boost", ""},
	{gpu.ThrottleSWThermal, "sw_thermal_slowdown", "sw_thermal_slowdown", "sw_therm_slowdown"},
	{gpu.ThrottleHWThermal, "hw_thermal_slowdown", "hw_thermal_slowdown", "hw_therm_slowdown"},
	{gpu.ThrottleHWPowerBrake, "hw_power_brake_slowdown", "hw_power_brake_slowdown", "hw_power_brake"},
}

// throttleTime returns a setter of the time for which a throttle reason was active.
func throttleTime(r gpu.ThrottleReason) setter {
	return func(b *builder, printed []byte) bool {
		v, ok := number(printed, unitSeconds)
		if ok = ok && v >= 0; ok {
			device(b).Throttle[r].Time = gpu.Total(v)
		}
		return ok
	}
}

// pcieFields returns the PCIe link. The width has no unit in a table. A link that is down prints 0.
func pcieFields() []Field {
	link := func(target func(*gpu.PCIe) *gpu.Opt[int64]) setter {
		return unlessZero(unitLanes, integerOf(unitLanes, func(b *builder) *gpu.Opt[int64] { return target(&device(b).PCIe) }))
	}
	const inXML = "pci/pci_gpu_link_info/"
	return []Field{
		basic("pcie.link.gen.current", gpu.GroupPCIeLink, inXML+"pcie_gen/current_link_gen", link(func(p *gpu.PCIe) *gpu.Opt[int64] { return &p.Generation })),
		basic("pcie.link.gen.max", gpu.GroupPCIeLink, inXML+"pcie_gen/max_link_gen", link(func(p *gpu.PCIe) *gpu.Opt[int64] { return &p.GenerationLimit })),
		basic("pcie.link.width.current", gpu.GroupPCIeLink, inXML+"link_widths/current_link_width", link(func(p *gpu.PCIe) *gpu.Opt[int64] { return &p.Width })),
		basic("pcie.link.width.max", gpu.GroupPCIeLink, inXML+"link_widths/max_link_width", link(func(p *gpu.PCIe) *gpu.Opt[int64] { return &p.WidthLimit })),
		xmlOnly("pcie.replay", "pci/replay_counter", counterOf(func(b *builder) *gpu.Counter[int64] { return &device(b).PCIe.Replays })),
		xmlOnly("pcie.replay_rollover", "pci/replay_rollover_counter",
			counterOf(func(b *builder) *gpu.Counter[int64] { return &device(b).PCIe.ReplayRollovers })),
	}
}

// setVoltage reads the voltage of the graphics engine. GPUs that do not measure it print 0.
func setVoltage(b *builder, printed []byte) bool {
	v, ok := number(printed, unitVolts)
	if ok = ok && v >= 0 && v < 100; ok && v > 0 {
		b.gpu.Device.Voltage = []gpu.SensorValue{{Location: "gfx", Value: gpu.Some(v)}}
	}
	return ok
}

// setPState reads P0 to P15.
func setPState(b *builder, printed []byte) bool {
	if name, found := bytes.CutPrefix(bytes.TrimSpace(printed), []byte("P")); found {
		if v, ok := integer(name, unitCount); ok {
			b.gpu.Device.PerformanceState = gpu.Some(v)
			return true
		}
	}
	return string(bytes.TrimSpace(inBrackets(printed))) == "Unknown"
}

func setFan(b *builder, printed []byte) bool {
	v, ok := number(printed, unitFraction)
	if ok = ok && v >= 0; ok {
		b.gpu.Device.Fans = []gpu.Fan{{Location: "fan0", Ratio: gpu.Some(v)}}
	}
	return ok
}
