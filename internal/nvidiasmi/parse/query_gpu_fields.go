// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Field is a column of --query-gpu that is read.
type Field struct {
	// Names are the names under which the column can be queried, the newest first. The heading has the tool's own.
	Names []string
	// Groups are the quantities to which the column belongs. It is zero for a column that is always queried.
	Groups gpu.Group
	// Basic is true if every version since driver 384 has the field, by its last name.
	Basic bool

	set setter
}

// Fields returns the columns that are read, in the order in which to ask for them. The GPU's name is the last one, as it is
// the only text that may contain a comma.
func Fields() []Field {
	return slices.Concat(identityFields(), utilizationFields(), thermalFields(), clockFields(), pcieFields(), healthFields(), eccFields(), fabricFields(), modeFields(), sessionFields(),
		[]Field{{[]string{"name", "gpu_name"}, 0, true, textOf("name", func(b *builder) *string { return &b.gpu.Device.Model })}})
}

func identityFields() []Field {
	return []Field{
		{[]string{"index"}, 0, true, setIndex},
		{[]string{"uuid", "gpu_uuid"}, 0, true, setID},
		{[]string{"pci.bus_id", "gpu_bus_id"}, 0, true, setPCI},
		{[]string{"serial", "gpu_serial"}, 0, true, textOf("serial", info(func(i *gpu.Info) *string { return &i.Serial }))},
		{[]string{"driver_version"}, 0, true, setDriver},
		{[]string{"kmd_version"}, 0, false, setKernelDriver},
		{[]string{"count"}, 0, true, integerOf("count", unitCount, func(b *builder) *gpu.Opt[int64] { return &b.listing.Attached })},
		{[]string{"vbios_version"}, 0, true, setVBIOS},
		{[]string{"compute_cap"}, 0, false, textOf("compute_cap", info(func(i *gpu.Info) *string { return &i.ComputeCapability }))},
		{[]string{"mig.mode.current"}, 0, false, setMIGMode()},
		{[]string{"inforom.img", "inforom.image"}, 0, false, setInfoROM()},
		{[]string{"c2c.mode"}, 0, false, setC2C()},
	}
}

// utilizationFields returns the columns of utilization and memory.
func utilizationFields() []Field {
	task := func(name string, g gpu.Group, basic bool, t gpu.Task) Field {
		return Field{[]string{name}, g, basic, fraction(name, func(b *builder) *gpu.Opt[float64] { return &device(b).Utilization[t] })}
	}
	memory := func(name string, g gpu.Group, basic bool, to func(*gpu.Memory) *gpu.Opt[int64]) Field {
		return Field{[]string{name}, g, basic, integerOf(name, unitBytes, func(b *builder) *gpu.Opt[int64] { return to(&device(b).Memory) })}
	}
	return []Field{
		task("utilization.gpu", gpu.GroupUtilization, true, gpu.TaskGeneral),
		{
			[]string{"utilization.memory"},
			gpu.GroupUtilization, true,
			fraction("utilization.memory", func(b *builder) *gpu.Opt[float64] { return &device(b).MemoryController }),
		},
		task("utilization.encoder", gpu.GroupMediaUtilization, false, gpu.TaskEncoder),
		task("utilization.decoder", gpu.GroupMediaUtilization, false, gpu.TaskDecoder),
		task("utilization.jpeg", gpu.GroupMediaUtilization, false, gpu.TaskJPEG),
		task("utilization.ofa", gpu.GroupMediaUtilization, false, gpu.TaskOpticalFlow),
		memory("memory.total", gpu.GroupMemory, true, func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Limit }),
		memory("memory.used", gpu.GroupMemory, true, func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Usage }),
		memory("memory.reserved", gpu.GroupMemory, false, func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Reserved }),
		memory("protected_memory.used", gpu.GroupProtectedMemory, false, func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Protected }),
		{
			[]string{"protected_memory.total"},
			gpu.GroupProtectedMemory, false,
			integerOf("protected_memory.total", unitBytes, func(b *builder) *gpu.Opt[int64] { return &b.parts.protectedTotal }),
		},
	}
}

// thermalFields returns the columns of temperature, power and fans.
func thermalFields() []Field {
	sensor := func(name string, basic bool, s gpu.Sensor) Field {
		return Field{
			[]string{name},
			gpu.GroupTemperature, basic,
			celsius(name, func(b *builder) *gpu.Opt[float64] { return &device(b).Temperature[s] }),
		}
	}
	watts := func(g gpu.Group, basic bool, to func(*parts) *gpu.Opt[float64], names ...string) Field {
		return Field{names, g, basic, watts(names[0], func(b *builder) *gpu.Opt[float64] { return to(&b.parts) })}
	}
	limit := func(to func(*parts) *gpu.Opt[float64], names ...string) Field {
		return Field{names, gpu.GroupPowerLimit, true, powerLimit(names[0], func(b *builder) *gpu.Opt[float64] { return to(&b.parts) })}
	}
	const detail = gpu.GroupPowerDetail
	return []Field{
		sensor("temperature.gpu", true, gpu.SensorGPU),
		sensor("temperature.memory", false, gpu.SensorMemory),
		{[]string{"temperature.gpu.tlimit"}, gpu.GroupTemperatureLimits, false, celsius("temperature.gpu.tlimit",
			func(b *builder) *gpu.Opt[float64] { return &device(b).TemperatureMargin[gpu.LimitDegraded] })},
		watts(gpu.GroupPower, true, func(p *parts) *gpu.Opt[float64] { return &p.power.chosen }, "power.draw"),
		watts(gpu.GroupPower, false, func(p *parts) *gpu.Opt[float64] { return &p.power.average }, "power.draw.average", "gpu.power.draw.average"),
		watts(gpu.GroupPower|detail, false, func(p *parts) *gpu.Opt[float64] { return &p.power.instant }, "power.draw.instant", "gpu.power.draw.instant"),
		watts(detail, false, func(p *parts) *gpu.Opt[float64] { return &p.module.average }, "module.power.draw.average"),
		watts(detail, false, func(p *parts) *gpu.Opt[float64] { return &p.module.instant }, "module.power.draw.instant"),
		limit(func(p *parts) *gpu.Opt[float64] { return &p.enforced }, "enforced.power.limit", "gpu.power.current_limit"),
		limit(func(p *parts) *gpu.Opt[float64] { return &p.requested }, "power.limit", "gpu.power.requested_limit"),
		{[]string{"power.max_limit", "gpu.power.max_limit"}, gpu.GroupPowerLimit, false, powerLimit("power.max_limit",
			func(b *builder) *gpu.Opt[float64] { return &b.parts.highest })},
		{[]string{"power.min_limit", "gpu.power.min_limit"}, gpu.GroupPowerLimit, false, powerLimitOf("power.min_limit", gpu.LimitMin)},
		{[]string{"power.default_limit", "gpu.power.default_limit"}, gpu.GroupPowerLimit, false, powerLimitOf("power.default_limit", gpu.LimitDefault)},
		{[]string{"fan.speed"}, gpu.GroupFans, true, setFan},
	}
}

func clockFields() []Field {
	clock := func(g gpu.Group, c gpu.ClockDomain, to func(*gpu.Clock) *gpu.Opt[float64], names ...string) Field {
		return Field{names, g, true, hertz(names[0], func(b *builder) *gpu.Opt[float64] { return to(&device(b).Clocks[c]) })}
	}
	speed := func(c *gpu.Clock) *gpu.Opt[float64] { return &c.Speed }
	limit := func(c *gpu.Clock) *gpu.Opt[float64] { return &c.Limit }
	fields := []Field{
		{[]string{"pstate"}, gpu.GroupPerformanceState, true, setPState},
		clock(gpu.GroupClocks, gpu.ClockGraphics, speed, "clocks.current.graphics", "clocks.gr"),
		clock(gpu.GroupClocks, gpu.ClockSM, speed, "clocks.current.sm", "clocks.sm"),
		clock(gpu.GroupClocks, gpu.ClockMemory, speed, "clocks.current.memory", "clocks.mem"),
		clock(gpu.GroupClocks, gpu.ClockVideo, speed, "clocks.current.video", "clocks.video"),
		clock(gpu.GroupClockLimits, gpu.ClockGraphics, limit, "clocks.max.graphics", "clocks.max.gr"),
		clock(gpu.GroupClockLimits, gpu.ClockSM, limit, "clocks.max.sm"),
		clock(gpu.GroupClockLimits, gpu.ClockMemory, limit, "clocks.max.memory", "clocks.max.mem"),
	}
	for _, r := range throttleReasons() {
		fields = append(fields, Field{
			[]string{"clocks_event_reasons." + r.active, "clocks_throttle_reasons." + r.active},
			gpu.GroupThrottle, false,
			throttleActive("clocks_event_reasons."+r.active, r.reason),
		})
	}
	for _, r := range throttleReasons() {
		if r.counter != "" {
			name := "clocks_event_reasons_counters." + r.counter
			fields = append(fields, Field{[]string{name}, gpu.GroupThrottleTime, false, throttleTime(name, r.reason)})
		}
	}
	return fields
}

// pcieFields returns the columns of the PCIe link. The width has no unit in a table. A column of replays does not exist.
func pcieFields() []Field {
	field := func(name string, to func(*gpu.PCIe) *gpu.Opt[int64]) Field {
		return Field{[]string{name}, gpu.GroupPCIeLink, true, pcieLink(name, to)}
	}
	return []Field{
		field("pcie.link.gen.current", func(p *gpu.PCIe) *gpu.Opt[int64] { return &p.Generation }),
		field("pcie.link.gen.max", func(p *gpu.PCIe) *gpu.Opt[int64] { return &p.GenerationLimit }),
		field("pcie.link.width.current", func(p *gpu.PCIe) *gpu.Opt[int64] { return &p.Width }),
		field("pcie.link.width.max", func(p *gpu.PCIe) *gpu.Opt[int64] { return &p.WidthLimit }),
	}
}

// healthFields returns the columns of errors, retired pages, remapped rows and recovery.
func healthFields() []Field {
	errors := func(name string, g gpu.Group, s scope, k kind) Field {
		return Field{[]string{name}, g, true, ecc(name, s, k, func(e *eccParts) *gpu.Opt[int64] { return &e.total })}
	}
	rows := func(to func(*gpu.Device) *gpu.Counter[int64], basic bool, names ...string) Field {
		return Field{names, gpu.GroupRemappedRows, basic, counterOf(names[0], func(b *builder) *gpu.Counter[int64] { return to(device(b)) })}
	}
	state := func(name string, basic bool, to func(*builder) *gpu.Opt[bool]) Field {
		return Field{[]string{name}, gpu.GroupRemappedRows, basic, boolOf(name, to)}
	}
	return []Field{
		errors("ecc.errors.corrected.volatile.total", gpu.GroupECC, volatile, corrected),
		errors("ecc.errors.uncorrected.volatile.total", gpu.GroupECC, volatile, uncorrected),
		errors("ecc.errors.corrected.aggregate.total", gpu.GroupECCLifetime, aggregate, corrected),
		errors("ecc.errors.uncorrected.aggregate.total", gpu.GroupECCLifetime, aggregate, uncorrected),
		rows(func(d *gpu.Device) *gpu.Counter[int64] { return &d.RetiredPages.Corrected }, true, "retired_pages.single_bit_ecc.count", "retired_pages.sbe"),
		rows(func(d *gpu.Device) *gpu.Counter[int64] { return &d.RetiredPages.Uncorrected }, true, "retired_pages.double_bit.count", "retired_pages.dbe"),
		state("retired_pages.pending", true, func(b *builder) *gpu.Opt[bool] { return &b.parts.pendingRetirement }),
		rows(func(d *gpu.Device) *gpu.Counter[int64] { return &d.RemappedRows.Corrected }, false, "remapped_rows.correctable", "remapped_rows.sbe"),
		rows(func(d *gpu.Device) *gpu.Counter[int64] { return &d.RemappedRows.Uncorrected }, false, "remapped_rows.uncorrectable", "remapped_rows.dbe"),
		state("remapped_rows.pending", false, func(b *builder) *gpu.Opt[bool] { return &device(b).RemappedRows.Pending }),
		state("remapped_rows.failure", false, func(b *builder) *gpu.Opt[bool] { return &device(b).RemappedRows.Failed }),
		{[]string{"gpu_recovery_action"}, gpu.GroupRecovery, false, setRecovery},
	}
}

// eccFields returns the columns of single memories and of their spare rows.
func eccFields() []Field {
	part := func(name string, g gpu.Group, s scope, k kind, to func(*eccParts) *gpu.Opt[int64]) Field {
		return Field{[]string{name}, g, false, ecc(name, s, k, to)}
	}
	sram := func(e *eccParts) *gpu.Opt[int64] { return &e.sram }
	dram := func(e *eccParts) *gpu.Opt[int64] { return &e.dram }
	const all = gpu.GroupECC | gpu.GroupECCLifetime | gpu.GroupECCMemory | gpu.GroupECCLocations
	fields := []Field{
		{[]string{"ecc.mode.current"}, all | gpu.GroupModes | gpu.GroupPendingModes, false, both(setECCMode, mode("ecc.mode", gpu.ModeECC))},
		part("ecc.errors.corrected.volatile.sram", gpu.GroupECCMemory, volatile, corrected, sram),
		part("ecc.errors.corrected.volatile.dram", gpu.GroupECCMemory, volatile, corrected, dram),
		part("ecc.errors.uncorrected.volatile.sram", gpu.GroupECCMemory, volatile, uncorrected, sram),
		part("ecc.errors.uncorrected.volatile.dram", gpu.GroupECCMemory, volatile, uncorrected, dram),
		part("ecc.errors.corrected.aggregate.dram", gpu.GroupECCLocations, aggregate, corrected, dram),
		part("ecc.errors.uncorrected.aggregate.dram", gpu.GroupECCLocations, aggregate, uncorrected, dram),
		{[]string{"ecc.errors.uncorrected.aggregate.sram.thresholdExceeded"}, gpu.GroupECCMemory, false, setSRAMThreshold()},
	}
	for _, source := range sramSources() {
		name := "ecc.errors.uncorrected.aggregate.sram." + source.column
		fields = append(fields, Field{[]string{name}, gpu.GroupECCLocations, false, eccLocation(name, aggregate, uncorrected, source.location)})
	}
	for spares, name := range bankNames {
		fields = append(fields, Field{[]string{"remapped_rows.histogram." + name}, gpu.GroupMemoryBanks, false, banks(gpu.Spares(spares))})
	}
	return fields
}
