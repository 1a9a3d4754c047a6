// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import "github.com/otelgpu/gpureceiver/internal/gpu"

// healthFields returns retired pages, remapped rows, repairs and recovery. GPUs without retired_pages or remapped_rows print N/A for the whole element.
func healthFields() []Field {
	errors := func(name string, g gpu.Group, s scope, k kind) Field {
		return basic(name, g, "", ecc(s, k, func(e *eccParts) *gpu.Opt[int64] { return &e.total }))
	}
	total := func(target func(*gpu.Device) *gpu.Counter[int64]) setter {
		return counterOf(func(b *builder) *gpu.Counter[int64] { return target(device(b)) })
	}
	flag := func(target func(*parts) *gpu.Opt[bool]) setter {
		return boolOf(func(b *builder) *gpu.Opt[bool] { return target(&b.parts) })
	}
	singleBit := total(func(d *gpu.Device) *gpu.Counter[int64] { return &d.RetiredPages.Corrected })
	doubleBit := total(func(d *gpu.Device) *gpu.Counter[int64] { return &d.RetiredPages.Uncorrected })
	const rows = gpu.GroupRemappedRows
	return []Field{
		errors("ecc.errors.corrected.volatile.total", gpu.GroupECC, volatile, corrected),
		errors("ecc.errors.uncorrected.volatile.total", gpu.GroupECC, volatile, uncorrected),
		errors("ecc.errors.corrected.aggregate.total", gpu.GroupECCLifetime, aggregate, corrected),
		errors("ecc.errors.uncorrected.aggregate.total", gpu.GroupECCLifetime, aggregate, uncorrected),
		basic("retired_pages.single_bit_ecc.count retired_pages.sbe", rows, "", singleBit),
		xmlOnly("retired_pages.sbe", "retired_pages/multiple_single_bit_retirement/retired_count", singleBit),
		basic("retired_pages.double_bit.count retired_pages.dbe", rows, "", doubleBit),
		xmlOnly("retired_pages.dbe", "retired_pages/double_bit_retirement/retired_count", doubleBit),
		basic("retired_pages.pending", rows, "retired_pages/pending_retirement", flag(func(p *parts) *gpu.Opt[bool] { return &p.pendingRetirement })),
		xmlOnly("retired_pages.pending", "retired_pages/pending_blacklist", flag(func(p *parts) *gpu.Opt[bool] { return &p.pendingBlacklist })),
		column("remapped_rows.correctable remapped_rows.sbe", rows, "remapped_rows/remapped_row_corr",
			total(func(d *gpu.Device) *gpu.Counter[int64] { return &d.RemappedRows.Corrected })),
		column("remapped_rows.uncorrectable remapped_rows.dbe", rows, "remapped_rows/remapped_row_unc",
			total(func(d *gpu.Device) *gpu.Counter[int64] { return &d.RemappedRows.Uncorrected })),
		column("remapped_rows.pending", rows, "remapped_rows/remapped_row_pending",
			rowFlag(func(b *builder) *gpu.Opt[bool] { return &device(b).RemappedRows.Pending })),
		column("remapped_rows.failure", rows, "remapped_rows/remapped_row_failure",
			rowFlag(func(b *builder) *gpu.Opt[bool] { return &device(b).RemappedRows.Failed })),
		column("gpu_recovery_action", gpu.GroupRecovery, "gpu_recovery_action", setRecovery),
		xmlOnly("channel_repair_pending", "ecc_errors/channel_repair_pending", flag(func(p *parts) *gpu.Opt[bool] { return &p.channelRepair })),
		xmlOnly("tpc_repair_pending", "ecc_errors/tpc_repair_pending", flag(func(p *parts) *gpu.Opt[bool] { return &p.clusterRepair })),
		xmlOnly("unrepairable_memory", "ecc_errors/unrepairable_memory", flag(func(p *parts) *gpu.Opt[bool] { return &p.unrepairable })),
		xmlOnly("reset_required", "gpu_reset_status/reset_required", flag(func(p *parts) *gpu.Opt[bool] { return &p.resetRequired })),
		xmlOnly("drain_and_reset_recommended", "gpu_reset_status/drain_and_reset_recommended",
			flag(func(p *parts) *gpu.Opt[bool] { return &p.drainRecommended })),
	}
}

// rowFlag returns a setter of a flag, which --query-remapped-rows prints as 0 or 1.
func rowFlag(target func(*builder) *gpu.Opt[bool]) setter {
	return valueOf(func(printed []byte) (value, ok bool) {
		if v, ok := integer(printed, unitCount); ok && v <= 1 {
			return v == 1, true
		}
		return boolean(printed)
	}, target)
}

// setRecovery reads what the driver asks for.
func setRecovery(b *builder, printed []byte) bool {
	if action := gpu.RecoveryActionOf(text(inBrackets(printed))); action != gpu.RecoveryOther {
		b.gpu.Device.RecoveryAction = gpu.Some(action)
		return true
	}
	word, ok := freeText(printed)
	if ok {
		b.gpu.Device.RequestUnknownRecovery(word)
	}
	return ok
}
