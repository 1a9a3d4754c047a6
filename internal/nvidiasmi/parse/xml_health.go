// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import "github.com/otelgpu/gpureceiver/internal/gpu"

// xmlHealth reads errors, wear and faults. GPUs without remapped_rows or retired_pages print N/A for the whole element.
func xmlHealth() map[string]*element {
	return map[string]*element{
		"ecc_mode": branch(map[string]*element{
			"current_ecc": leaf(boolOf("ecc.mode", func(b *builder) *gpu.Opt[bool] { return &b.parts.eccEnabled })),
		}),
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
