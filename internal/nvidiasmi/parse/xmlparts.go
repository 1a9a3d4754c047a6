// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import "github.com/otelgpu/gpureceiver/internal/gpu"

// throttleReasons are the reasons of which the tool tells, by their names in XML and in tables. Idle, application and
// display clocks hold nothing down. XML shortens two names in its counters.
func throttleReasons() []throttleReason {
	return []throttleReason{
		{gpu.ThrottleSWPowerCap, "sw_power_cap", "sw_power_cap", ""},
		{gpu.ThrottleHWSlowdown, "hw_slowdown", "", ""},
		{gpu.ThrottleSyncBoost, "sync_boost", "sync_boost", ""},
		{gpu.ThrottleSWThermal, "sw_thermal_slowdown", "sw_thermal_slowdown", "sw_therm_slowdown"},
		{gpu.ThrottleHWThermal, "hw_thermal_slowdown", "hw_thermal_slowdown", "hw_therm_slowdown"},
		{gpu.ThrottleHWPowerBrake, "hw_power_brake_slowdown", "hw_power_brake_slowdown", "hw_power_brake"},
	}
}

type throttleReason struct {
	reason  gpu.ThrottleReason
	active  string
	counter string // empty: there is none
	short   string
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

// xmlReliability reads what tells of wear and of faults. remapped_rows and retired_pages are the text N/A on boards without.
func xmlReliability() map[string]*element {
	return map[string]*element{
		"ecc_errors": branch(map[string]*element{
			"volatile":               branch(eccCounts("volatile", volatile)),
			"aggregate":              branch(eccCounts("aggregate", aggregate)),
			"channel_repair_pending": leaf(boolOf("channel_repair_pending", func(b *builder) *gpu.Opt[bool] { return &b.parts.channelRepair })),
			"unrepairable_memory":    leaf(boolOf("unrepairable_memory", func(b *builder) *gpu.Opt[bool] { return &b.parts.unrepairable })),
		}),
		"retired_pages": branch(map[string]*element{
			"multiple_single_bit_retirement": branch(map[string]*element{
				"retired_count": leaf(counterOf("retired_pages.sbe", func(b *builder) *gpu.Counter[int64] { return &device(b).RetiredPages.Corrected })),
			}),
			"double_bit_retirement": branch(map[string]*element{
				"retired_count": leaf(counterOf("retired_pages.dbe", func(b *builder) *gpu.Counter[int64] { return &device(b).RetiredPages.Uncorrected })),
			}),
			"pending_retirement": leaf(boolOf("retired_pages.pending", func(b *builder) *gpu.Opt[bool] { return &b.parts.pendingRetirement })),
			"pending_blacklist":  leaf(boolOf("retired_pages.pending", func(b *builder) *gpu.Opt[bool] { return &b.parts.pendingBlacklist })),
		}),
		"remapped_rows": branch(map[string]*element{
			"remapped_row_corr":    leaf(counterOf("remapped_rows.correctable", func(b *builder) *gpu.Counter[int64] { return &device(b).RemappedRows.Corrected })),
			"remapped_row_unc":     leaf(counterOf("remapped_rows.uncorrectable", func(b *builder) *gpu.Counter[int64] { return &device(b).RemappedRows.Uncorrected })),
			"remapped_row_pending": leaf(boolOf("remapped_rows.pending", func(b *builder) *gpu.Opt[bool] { return &device(b).RemappedRows.Pending })),
			"remapped_row_failure": leaf(boolOf("remapped_rows.failure", func(b *builder) *gpu.Opt[bool] { return &device(b).RemappedRows.Failed })),
		}),
		"gpu_recovery_action": leaf(setRecovery),
		"gpu_reset_status": branch(map[string]*element{
			"reset_required":              leaf(boolOf("reset_required", func(b *builder) *gpu.Opt[bool] { return &b.parts.resetRequired })),
			"drain_and_reset_recommended": leaf(boolOf("drain_and_reset_recommended", func(b *builder) *gpu.Opt[bool] { return &b.parts.drainRecommended })),
		}),
	}
}

// eccCounts reads the three layouts: single and double bit totals (before Turing), SRAM and DRAM, and uncorrected SRAM
// errors in two parts (Ampere and later, from driver 545 on).
func eccCounts(name string, s scope) map[string]*element {
	part := func(quantity string, k kind, to func(*eccParts) *gpu.Opt[int64]) *element {
		return leaf(ecc("ecc.errors."+name+"."+quantity, s, k, to))
	}
	total := func(e *eccParts) *gpu.Opt[int64] { return &e.total }
	sram := func(e *eccParts) *gpu.Opt[int64] { return &e.sram }
	dram := func(e *eccParts) *gpu.Opt[int64] { return &e.dram }
	return map[string]*element{
		"single_bit":         branch(map[string]*element{"total": part("single_bit", corrected, total)}),
		"double_bit":         branch(map[string]*element{"total": part("double_bit", uncorrected, total)}),
		"sram_correctable":   part("sram_correctable", corrected, sram),
		"dram_correctable":   part("dram_correctable", corrected, dram),
		"sram_uncorrectable": part("sram_uncorrectable", uncorrected, sram),
		"dram_uncorrectable": part("dram_uncorrectable", uncorrected, dram),
		"sram_uncorrectable_parity": part("sram_uncorrectable_parity", uncorrected,
			func(e *eccParts) *gpu.Opt[int64] { return &e.parity }),
		"sram_uncorrectable_secded": part("sram_uncorrectable_secded", uncorrected,
			func(e *eccParts) *gpu.Opt[int64] { return &e.secded }),
	}
}

// xmlInstance reads a MIG device, which has memory and nothing that changes faster.
func xmlInstance() *element {
	e := branch(map[string]*element{
		"index":               leaf(integerOf("mig.index", unitCount, func(b *builder) *gpu.Opt[int64] { return &b.instance.Index })),
		"gpu_instance_id":     leaf(integerOf("mig.gi", unitCount, func(b *builder) *gpu.Opt[int64] { return &b.instance.GI })),
		"compute_instance_id": leaf(integerOf("mig.ci", unitCount, func(b *builder) *gpu.Opt[int64] { return &b.instance.CI })),
		"uuid":                leaf(textOf("mig.uuid", func(b *builder) *string { return &b.instance.UUID })),
		"fb_memory_usage":     branch(frameBuffer(func(b *builder) *gpu.Memory { return &b.instance.Memory })),
		"device_attributes": branch(map[string]*element{"shared": branch(map[string]*element{
			"multiprocessor_count": leaf(integerOf("mig.multiprocessors", unitCount, func(b *builder) *gpu.Opt[int64] { return &b.instance.Multiprocessors })),
		})}),
		"ecc_error_count": branch(map[string]*element{"volatile_count": branch(map[string]*element{
			"sram_uncorrectable": leaf(integerOf("mig.ecc", unitCount, func(b *builder) *gpu.Opt[int64] { return &b.instance.Uncorrected })),
		})}),
	})
	e.open = func(b *builder, _ []byte) { b.instance = MIGDevice{} }
	e.end = func(b *builder, _ []byte) {
		if len(b.gpu.MIGDevices) >= maxMIG {
			b.listing.Dropped++
			return
		}
		b.gpu.MIGDevices = append(b.gpu.MIGDevices, b.instance)
	}
	return e
}

// xmlProcesses reads the processes of a GPU. Where there is none the element is empty; a text in it is a reason.
func xmlProcesses() *element {
	return &element{
		children: map[string]*element{"process_info": xmlProcess()},
		set: func(b *builder, printed []byte) {
			if b.gpu.ProcessesRead = len(printed) == 0; !b.gpu.ProcessesRead {
				b.note("processes", printed)
			}
		},
	}
}

func xmlProcess() *element {
	name := leaf(func(b *builder, printed []byte) { b.process.Name = processName(printed) })
	name.verbatim = true
	e := branch(map[string]*element{
		"pid": leaf(func(b *builder, printed []byte) {
			if pid, ok := processID(printed); ok {
				b.process.PID = pid
			}
		}),
		"type":                leaf(func(b *builder, printed []byte) { b.process.Type = processType(printed) }),
		"process_name":        name,
		"used_memory":         leaf(integerOf("process.used_memory", unitBytes, func(b *builder) *gpu.Opt[int64] { return &b.process.Memory })),
		"gpu_instance_id":     leaf(integerOf("process.gi", unitCount, func(b *builder) *gpu.Opt[int64] { return &b.process.GI })),
		"compute_instance_id": leaf(integerOf("process.ci", unitCount, func(b *builder) *gpu.Opt[int64] { return &b.process.CI })),
	})
	e.open = func(b *builder, _ []byte) {
		b.process = Process{}
		b.gpu.ProcessesRead = true
	}
	e.end = func(b *builder, _ []byte) {
		if b.process.PID == 0 || b.processes >= maxProcesses {
			b.listing.Dropped++
			return
		}
		b.processes++
		b.gpu.Processes = append(b.gpu.Processes, b.process)
	}
	return e
}
