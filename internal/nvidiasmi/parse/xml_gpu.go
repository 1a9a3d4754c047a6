// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// xmlRoot contains every element that is read, by name and place: the same name means different things in different places. If drivers
// renamed an element (525 to 535: power_readings, clocks_throttle_reasons), it has both names.
var xmlRoot = branch(map[string]*element{
	"nvidia_smi_log": {
		end: func(b *builder, _ []byte) { b.listing.Complete = true },
		children: map[string]*element{
			"driver_version": leaf(setDriver),
			"kmd_version":    leaf(setKernelDriver),
			"cuda_version":   leaf(setCUDA),
			"attached_gpus":  leaf(integerOf("attached_gpus", unitCount, func(b *builder) *gpu.Opt[int64] { return &b.listing.Attached })),
			"gpu":            xmlGPU(),
			"error_string":   leaf(setUnreachable),
		},
	},
})

func xmlGPU() *element {
	e := branch(merge(xmlIdentity(), xmlMemory(), xmlHealth(), xmlTemperature(), xmlPower(), xmlClocks(), xmlFabric(), xmlModes(), xmlSessions(), map[string]*element{
		"utilization":       branch(xmlUtilization()),
		"voltage":           branch(map[string]*element{"graphics_volt": leaf(setVoltage)}),
		"performance_state": leaf(setPState),
		"fan_speed":         leaf(setFan),
		"mig_devices":       branch(map[string]*element{"mig_device": xmlMIGDevice()}),
		"processes":         xmlProcesses(gpu.ProcessUnknown),
		"compute_processes": xmlProcesses(gpu.ProcessCompute), // drivers up to 340
	}))
	e.open = func(b *builder, attributes []byte) {
		b.begin()
		if _, id, ok := bytes.Cut(attributes, []byte(`"`)); ok { // <gpu id="00000000:07:00.0">
			id, _, _ = bytes.Cut(id, []byte(`"`))
			b.gpu.Device.Info.PCIAddress = PCIAddress(string(id))
		}
	}
	e.end = func(b *builder, _ []byte) { b.end() }
	return e
}

func xmlIdentity() map[string]*element {
	model := leaf(textOf("name", func(b *builder) *string { return &b.gpu.Device.Model }))
	model.verbatim = true
	return map[string]*element{
		"product_name":         model,
		"uuid":                 leaf(setID),
		"serial":               leaf(textOf("serial", info(func(i *gpu.Info) *string { return &i.Serial }))),
		"vbios_version":        leaf(setVBIOS),
		"minor_number":         leaf(setMinor),
		"product_brand":        leaf(setBrand),
		"product_architecture": leaf(setArchitecture),
		"board_part_number":    leaf(textOf("board_part_number", info(func(i *gpu.Info) *string { return &i.BoardPartNumber }))),
		"gpu_part_number":      leaf(setGPUPartNumber),
		"inforom_version": branch(map[string]*element{
			"img_version": leaf(setInfoROM()),
		}),
		"c2c_mode": leaf(setC2C()),
		"pci": branch(map[string]*element{
			"pci_bus_id":              leaf(setPCI),
			"replay_counter":          leaf(setReplays),
			"replay_rollover_counter": leaf(counterOf("pcie.replay_rollover", func(b *builder) *gpu.Counter[int64] { return &device(b).PCIe.ReplayRollovers })),
			"pci_gpu_link_info": branch(map[string]*element{
				"pcie_gen": branch(map[string]*element{
					"current_link_gen": leaf(pcieLink("pcie.link.gen.current", func(p *gpu.PCIe) *gpu.Opt[int64] { return &p.Generation })),
					"max_link_gen":     leaf(pcieLink("pcie.link.gen.max", func(p *gpu.PCIe) *gpu.Opt[int64] { return &p.GenerationLimit })),
				}),
				"link_widths": branch(map[string]*element{
					"current_link_width": leaf(pcieLink("pcie.link.width.current", func(p *gpu.PCIe) *gpu.Opt[int64] { return &p.Width })),
					"max_link_width":     leaf(pcieLink("pcie.link.width.max", func(p *gpu.PCIe) *gpu.Opt[int64] { return &p.WidthLimit })),
				}),
			}),
		}),
	}
}

func xmlUtilization() map[string]*element {
	task := func(quantity string, t gpu.Task) *element {
		return leaf(fraction(quantity, func(b *builder) *gpu.Opt[float64] { return &device(b).Utilization[t] }))
	}
	return map[string]*element{
		"gpu_util":     task("utilization.gpu", gpu.TaskGeneral),
		"encoder_util": task("utilization.encoder", gpu.TaskEncoder),
		"decoder_util": task("utilization.decoder", gpu.TaskDecoder),
		"jpeg_util":    task("utilization.jpeg", gpu.TaskJPEG),
		"ofa_util":     task("utilization.ofa", gpu.TaskOpticalFlow),
		"memory_util":  leaf(fraction("utilization.memory", func(b *builder) *gpu.Opt[float64] { return &device(b).MemoryController })),
	}
}

func xmlMemory() map[string]*element {
	return map[string]*element{
		"fb_memory_usage":   branch(frameBuffer(func(b *builder) *gpu.Memory { return &device(b).Memory })),
		"bar1_memory_usage": branch(bar1(func(b *builder) *gpu.Memory { return &device(b).Memory })),
		"cc_protected_memory_usage": branch(map[string]*element{
			"total": leaf(integerOf("protected_memory.total", unitBytes, func(b *builder) *gpu.Opt[int64] { return &b.parts.protectedTotal })),
			"used":  leaf(integerOf("protected_memory.used", unitBytes, func(b *builder) *gpu.Opt[int64] { return &device(b).Memory.Protected })),
		}),
	}
}

// xmlTemperature reads temperatures and their absolute limits. gpu_temp_tlimit is how many degrees are left until the driver slows the GPU
// down (NVML: the distance to the nearest slowdown threshold). The *_tlimit_threshold elements are points on that same scale, most of them
// negative, and not temperatures. At gpu_temp_max_tlimit_threshold the GPU shuts down. Of the memory's own scale the tool prints only a
// point (gpu_temp_max_mem_tlimit_threshold), and not what is left.
func xmlTemperature() map[string]*element {
	sensor := func(quantity string, s gpu.Sensor) *element {
		return leaf(celsius(quantity, func(b *builder) *gpu.Opt[float64] { return &device(b).Temperature[s] }))
	}
	limit := func(quantity string, s gpu.Sensor, l gpu.Limit) *element {
		return leaf(temperatureLimit(quantity, func(b *builder) *gpu.Opt[float64] { return &device(b).TemperatureLimit[s][l] }))
	}
	return map[string]*element{"temperature": branch(map[string]*element{
		"gpu_temp":                      sensor("temperature.gpu", gpu.SensorGPU),
		"memory_temp":                   sensor("temperature.memory", gpu.SensorMemory),
		"gpu_temp_slow_threshold":       limit("temperature.slowdown", gpu.SensorGPU, gpu.LimitDegraded),
		"gpu_temp_max_threshold":        limit("temperature.shutdown", gpu.SensorGPU, gpu.LimitCritical),
		"gpu_temp_max_gpu_threshold":    limit("temperature.max", gpu.SensorGPU, gpu.LimitMax),
		"gpu_temp_max_mem_threshold":    limit("temperature.memory.max", gpu.SensorMemory, gpu.LimitMax),
		"gpu_temp_max_tlimit_threshold": leaf(celsius("temperature.shutdown.tlimit", func(b *builder) *gpu.Opt[float64] { return &b.parts.shutdownTLimit })),
		"gpu_temp_tlimit":               leaf(celsius("temperature.gpu.tlimit", func(b *builder) *gpu.Opt[float64] { return &device(b).TemperatureMargin[gpu.LimitDegraded] })),
	})}
}

// xmlPower reads the power of the GPU, of its memory, which is a part of it, and of its module. The limits of the module are not read.
func xmlPower() map[string]*element {
	drawOf := func(prefix string, d func(*builder) *draw) map[string]*element {
		return map[string]*element{
			"power_draw":         leaf(watts(prefix+"power.draw", func(b *builder) *gpu.Opt[float64] { return &d(b).chosen })),
			"average_power_draw": leaf(watts(prefix+"power.draw.average", func(b *builder) *gpu.Opt[float64] { return &d(b).average })),
			"instant_power_draw": leaf(watts(prefix+"power.draw.instant", func(b *builder) *gpu.Opt[float64] { return &d(b).instant })),
		}
	}
	enforced := leaf(powerLimit("enforced.power.limit", func(b *builder) *gpu.Opt[float64] { return &b.parts.enforced }))
	requested := leaf(powerLimit("power.limit", func(b *builder) *gpu.Opt[float64] { return &b.parts.requested }))
	device := branch(merge(drawOf("", func(b *builder) *draw { return &b.parts.power }), map[string]*element{
		"enforced_power_limit": enforced, "current_power_limit": enforced,
		"power_limit": requested, "requested_power_limit": requested,
		"max_power_limit":     leaf(powerLimit("power.max_limit", func(b *builder) *gpu.Opt[float64] { return &b.parts.highest })),
		"min_power_limit":     leaf(powerLimitOf("power.min_limit", gpu.LimitMin)),
		"default_power_limit": leaf(powerLimitOf("power.default_limit", gpu.LimitDefault)),
	}))
	return map[string]*element{
		"power_readings":            device,
		"gpu_power_readings":        device,
		"gpu_memory_power_readings": branch(drawOf("memory.", func(b *builder) *draw { return &b.parts.memory })),
		"module_power_readings":     branch(drawOf("module.", func(b *builder) *draw { return &b.parts.module })),
	}
}

func xmlClocks() map[string]*element {
	event, throttle, counters := map[string]*element{}, map[string]*element{}, map[string]*element{}
	for _, r := range throttleReasons() {
		active := leaf(throttleActive("clocks_event_reasons."+r.active, r.reason))
		event["clocks_event_reason_"+r.active] = active
		throttle["clocks_throttle_reason_"+r.active] = active
		if r.counter == "" {
			continue
		}
		time := leaf(throttleTime("clocks_event_reasons_counters."+r.counter, r.reason))
		counters["clocks_event_reasons_counters_"+r.counter] = time
		if r.short != "" {
			counters["clocks_event_reasons_counters_"+r.short] = time
		}
	}
	return map[string]*element{
		"clocks_event_reasons":          branch(event),
		"clocks_throttle_reasons":       branch(throttle),
		"clocks_event_reasons_counters": branch(counters),
		"clocks":                        branch(clocks("clocks.current.", func(c *gpu.Clock) *gpu.Opt[float64] { return &c.Speed })),
		"max_clocks":                    branch(clocks("clocks.max.", func(c *gpu.Clock) *gpu.Opt[float64] { return &c.Limit })),
	}
}

func clocks(prefix string, to func(*gpu.Clock) *gpu.Opt[float64]) map[string]*element {
	domain := func(name string, c gpu.ClockDomain) *element {
		return leaf(hertz(prefix+name, func(b *builder) *gpu.Opt[float64] { return to(&device(b).Clocks[c]) }))
	}
	return map[string]*element{
		"graphics_clock": domain("graphics", gpu.ClockGraphics),
		"sm_clock":       domain("sm", gpu.ClockSM),
		"mem_clock":      domain("memory", gpu.ClockMemory),
		"video_clock":    domain("video", gpu.ClockVideo),
	}
}
