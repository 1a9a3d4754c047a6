// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import "github.com/otelgpu/gpureceiver/internal/gpu"

// xmlHealth reads errors, wear and faults. GPUs without remapped_rows or retired_pages print N/A for the whole element.
func xmlHealth() map[string]*element {
	return map[string]*element{
		"ecc_mode": branch(map[string]*element{
			"current_ecc": leaf(both(setECCMode, mode("ecc.mode", gpu.ModeECC))),
			"pending_ecc": leaf(pendingMode("ecc.mode.pending", gpu.ModeECC)),
		}),
		"ecc_errors": branch(map[string]*element{
			"volatile":                             branch(eccCounts("volatile", volatile)),
			"aggregate":                            branch(eccCounts("aggregate", aggregate)),
			"aggregate_uncorrectable_sram_sources": branch(xmlSRAMSources()),
			"channel_repair_pending":               leaf(boolOf("channel_repair_pending", func(b *builder) *gpu.Opt[bool] { return &b.parts.channelRepair })),
			"tpc_repair_pending":                   leaf(boolOf("tpc_repair_pending", func(b *builder) *gpu.Opt[bool] { return &b.parts.clusterRepair })),
			"unrepairable_memory":                  leaf(boolOf("unrepairable_memory", func(b *builder) *gpu.Opt[bool] { return &b.parts.unrepairable })),
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
			"remapped_row_corr":      leaf(counterOf("remapped_rows.correctable", func(b *builder) *gpu.Counter[int64] { return &device(b).RemappedRows.Corrected })),
			"remapped_row_unc":       leaf(counterOf("remapped_rows.uncorrectable", func(b *builder) *gpu.Counter[int64] { return &device(b).RemappedRows.Uncorrected })),
			"remapped_row_pending":   leaf(boolOf("remapped_rows.pending", func(b *builder) *gpu.Opt[bool] { return &device(b).RemappedRows.Pending })),
			"remapped_row_failure":   leaf(boolOf("remapped_rows.failure", func(b *builder) *gpu.Opt[bool] { return &device(b).RemappedRows.Failed })),
			"row_remapper_histogram": branch(xmlBanks()),
		}),
		"gpu_recovery_action": leaf(setRecovery),
		"gpu_reset_status": branch(map[string]*element{
			"reset_required":              leaf(boolOf("reset_required", func(b *builder) *gpu.Opt[bool] { return &b.parts.resetRequired })),
			"drain_and_reset_recommended": leaf(boolOf("drain_and_reset_recommended", func(b *builder) *gpu.Opt[bool] { return &b.parts.drainRecommended })),
		}),
	}
}

// eccCounts reads the three layouts: single and double bit totals and each memory (before Turing), SRAM and DRAM, and uncorrected SRAM
// errors in two parts (Ampere and later, from driver 545 on).
func eccCounts(name string, s scope) map[string]*element {
	part := func(quantity string, k kind, to func(*eccParts) *gpu.Opt[int64]) *element {
		return leaf(ecc("ecc.errors."+name+"."+quantity, s, k, to))
	}
	total := func(e *eccParts) *gpu.Opt[int64] { return &e.total }
	sram := func(e *eccParts) *gpu.Opt[int64] { return &e.sram }
	dram := func(e *eccParts) *gpu.Opt[int64] { return &e.dram }
	memories := func(quantity string, k kind) *element {
		all := map[string]*element{"total": part(quantity, k, total)}
		for element, location := range olderMemories() {
			all[element] = leaf(eccLocation("ecc.errors."+name+"."+quantity+"."+element, s, k, location))
		}
		return branch(all)
	}
	return map[string]*element{
		"single_bit":         memories("single_bit", corrected),
		"double_bit":         memories("double_bit", uncorrected),
		"sram_correctable":   part("sram_correctable", corrected, sram),
		"dram_correctable":   part("dram_correctable", corrected, dram),
		"sram_uncorrectable": part("sram_uncorrectable", uncorrected, sram),
		"dram_uncorrectable": part("dram_uncorrectable", uncorrected, dram),
		"sram_uncorrectable_parity": part("sram_uncorrectable_parity", uncorrected,
			func(e *eccParts) *gpu.Opt[int64] { return &e.parity }),
		"sram_uncorrectable_secded": part("sram_uncorrectable_secded", uncorrected,
			func(e *eccParts) *gpu.Opt[int64] { return &e.secded }),
		"sram_threshold_exceeded": leaf(setSRAMThreshold()),
	}
}

// olderMemories are the memories by which GPUs before Turing count.
func olderMemories() map[string]gpu.ErrorLocation {
	return map[string]gpu.ErrorLocation{
		"device_memory":  gpu.LocationDRAM,
		"register_file":  gpu.LocationRegisterFile,
		"l1_cache":       gpu.LocationL1,
		"l2_cache":       gpu.LocationL2,
		"texture_memory": gpu.LocationTexture,
		"texture_shm":    gpu.LocationTextureSharedMemory,
		"cbu":            gpu.LocationCBU,
	}
}

func xmlSRAMSources() map[string]*element {
	all := map[string]*element{}
	for _, source := range sramSources() {
		all[source.element] = leaf(eccLocation("ecc.errors."+source.element, aggregate, uncorrected, source.location))
	}
	return all
}

func xmlBanks() map[string]*element {
	all := map[string]*element{}
	for spares, name := range bankNames {
		all["row_remapper_histogram_"+name] = leaf(banks(gpu.Spares(spares)))
	}
	return all
}
