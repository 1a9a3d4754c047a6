// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"math"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// scope is the period that an ECC count covers.
type scope uint8

const (
	volatile  scope = iota // since the driver was loaded
	aggregate              // over the GPU's life
	numScopes
)

// kind is the kind of an ECC error.
type kind uint8

const (
	corrected kind = iota
	uncorrected
	numKinds
)

var errorTypes = [numKinds]gpu.ErrorType{corrected: gpu.ErrorCorrected, uncorrected: gpu.ErrorUncorrected}

// eccParts are the ECC counts of one scope and kind. Older GPUs print a total and every memory. Newer ones print SRAM and DRAM, and some
// split uncorrected SRAM errors into parity and SEC-DED.
type eccParts struct {
	total, sram, parity, secded, dram gpu.Opt[int64]
	locations                         [gpu.NumErrorLocations]gpu.Opt[int64]

	failed bool // a part could not be read, so the sum would be too small
}

func (e *eccParts) count() gpu.Opt[int64] {
	if e.total.Known() || e.failed {
		return e.total
	}
	return sum(e.sram.Or(sum(e.parity, e.secded)), e.dram)
}

// inDRAM returns the errors of device memory, which is the first location of older GPUs.
func (e *eccParts) inDRAM() gpu.Opt[int64] { return e.dram.Or(e.locations[gpu.LocationDRAM]) }

// inSRAM returns the errors of the memories on the chip: what is printed of them together, or the sum of its parts.
func (e *eccParts) inSRAM() gpu.Opt[int64] {
	if e.sram.Known() || e.failed && (!e.parity.Known() || !e.secded.Known()) {
		return e.sram
	}
	n := sum(e.parity, e.secded)
	if n.Known() {
		return n
	}
	for location, count := range e.locations {
		if gpu.ErrorLocation(location) != gpu.LocationDRAM {
			n = sum(n, count)
		}
	}
	return n
}

// sum adds what is known: a GPU that lacks one of the memories prints N/A for it. A sum that overflows is absent.
func sum(a, b gpu.Opt[int64]) gpu.Opt[int64] {
	x, ok := a.Get()
	y, also := b.Get()
	if ok && also {
		if x > math.MaxInt64-y {
			return gpu.Opt[int64]{}
		}
		return gpu.Some(x + y)
	}
	return a.Or(b)
}

// addErrors adds the ECC counts. The rollovers of the PCIe replay number are not added to the replay counter: each represents four replays
// in a row, which the counter has counted already (manual of nvidia-smi).
func (b *builder) addErrors() {
	d := &b.gpu.Device
	for s := range numScopes {
		for k, e := range errorTypes {
			if n, ok := b.parts.ecc[s][k].count().Get(); ok {
				d.Errors = append(d.Errors, gpu.ErrorCount{Type: e, Count: gpu.Total(n), Lifetime: s == aggregate})
			}
		}
	}
	for k, e := range errorTypes {
		volatileParts := &b.parts.ecc[volatile][k]
		d.ECC.Memory[gpu.MemorySRAM][e] = counted(volatileParts.inSRAM())
		d.ECC.Memory[gpu.MemoryDRAM][e] = counted(volatileParts.inDRAM())
	}
	b.addErrorLocations()
	d.ECC.SRAMThresholdExceeded = b.parts.sramThreshold
}

func (b *builder) addErrorLocations() {
	ecc := &b.gpu.Device.ECC
	for k, e := range errorTypes {
		parts := &b.parts.ecc[aggregate][k]
		for location, n := range parts.locations {
			if gpu.ErrorLocation(location) == gpu.LocationDRAM {
				n = parts.inDRAM()
			}
			if n.Known() {
				ecc.Locations = append(ecc.Locations, gpu.LocationErrors{Location: gpu.ErrorLocation(location), Type: e, Count: counted(n)})
			}
		}
	}
}

func counted(o gpu.Opt[int64]) gpu.Counter[int64] {
	if n, ok := o.Get(); ok {
		return gpu.Total(n)
	}
	return gpu.Counter[int64]{}
}

// setECCMode reads whether ECC is on. A GPU without ECC prints N/A, and for some of the counts 0 all the same.
func setECCMode(b *builder, printed []byte) bool {
	v, ok := boolean(printed)
	if ok || isAbsent(printed) {
		b.parts.eccEnabled = gpu.Some(v)
	}
	return ok
}

// isAbsent reports whether the GPU does not have a quantity. If only this driver cannot read it, that is unknown.
func isAbsent(printed []byte) bool {
	return reasonOf(printed) == reasonAbsent && string(inBrackets(printed)) != functionNotFound
}

// ecc returns a setter of one part of an ECC count.
func ecc(s scope, k kind, target func(*eccParts) *gpu.Opt[int64]) setter {
	return func(b *builder, printed []byte) bool {
		p := &b.parts.ecc[s][k]
		v, ok := integer(printed, unitCount)
		if ok {
			*target(p) = gpu.Some(v)
		} else if !isAbsent(printed) {
			p.failed = true // the memory may have errors that this driver does not report
		}
		return ok
	}
}

// eccLocation returns a setter of the errors of one memory over the GPU's life, or of an older GPU. Its failure does not concern the counts.
func eccLocation(s scope, k kind, location gpu.ErrorLocation) setter {
	return integerOf(unitCount, func(b *builder) *gpu.Opt[int64] { return &b.parts.ecc[s][k].locations[location] })
}

// sramSources are the parts of the chip by which newer GPUs count uncorrected errors of SRAM, by their names in XML and in tables.
var sramSources = []struct {
	location        gpu.ErrorLocation
	element, column string
}{
	{gpu.LocationL2, "sram_l2", "l2"},
	{gpu.LocationSM, "sram_sm", "sm"},
	{gpu.LocationMicrocontroller, "sram_microcontroller", "mcu"},
	{gpu.LocationPCIe, "sram_pcie", "pcie"},
	{gpu.LocationOther, "sram_other", "other"},
}

// olderMemories are the memories by which GPUs before Turing count.
var olderMemories = map[string]gpu.ErrorLocation{
	"device_memory":  gpu.LocationDRAM,
	"register_file":  gpu.LocationRegisterFile,
	"l1_cache":       gpu.LocationL1,
	"l2_cache":       gpu.LocationL2,
	"texture_memory": gpu.LocationTexture,
	"texture_shm":    gpu.LocationTextureSharedMemory,
	"cbu":            gpu.LocationCBU,
}

// bankNames are the names of the tool for how many spare rows are left.
var bankNames = [gpu.NumSpares]string{
	gpu.SparesMax: "max", gpu.SparesHigh: "high", gpu.SparesPartial: "partial", gpu.SparesLow: "low", gpu.SparesNone: "none",
}

// eccFields returns the errors of single memories and their spare rows. Tables and XML divide the errors differently.
func eccFields() []Field {
	sram := func(e *eccParts) *gpu.Opt[int64] { return &e.sram }
	dram := func(e *eccParts) *gpu.Opt[int64] { return &e.dram }
	const all = gpu.GroupECC | gpu.GroupECCLifetime | gpu.GroupECCMemory | gpu.GroupECCLocations
	fields := []Field{
		column("ecc.mode.current", all|gpu.GroupModes|gpu.GroupPendingModes, "ecc_mode/current_ecc", both(setECCMode, mode(gpu.ModeECC))).called("ecc.mode"),
		column("ecc.errors.corrected.volatile.sram", gpu.GroupECCMemory, "", ecc(volatile, corrected, sram)),
		column("ecc.errors.corrected.volatile.dram", gpu.GroupECCMemory, "", ecc(volatile, corrected, dram)),
		column("ecc.errors.uncorrected.volatile.sram", gpu.GroupECCMemory, "", ecc(volatile, uncorrected, sram)),
		column("ecc.errors.uncorrected.volatile.dram", gpu.GroupECCMemory, "", ecc(volatile, uncorrected, dram)),
		column("ecc.errors.corrected.aggregate.dram", gpu.GroupECCLocations, "", ecc(aggregate, corrected, dram)),
		column("ecc.errors.uncorrected.aggregate.dram", gpu.GroupECCLocations, "", ecc(aggregate, uncorrected, dram)),
		column("ecc.errors.uncorrected.aggregate.sram.thresholdExceeded", gpu.GroupECCMemory,
			"ecc_errors/volatile/sram_threshold_exceeded ecc_errors/aggregate/sram_threshold_exceeded",
			boolOf(func(b *builder) *gpu.Opt[bool] { return &b.parts.sramThreshold })).called("ecc.sram.threshold"),
	}
	for _, source := range sramSources {
		set := eccLocation(aggregate, uncorrected, source.location)
		fields = append(fields, column("ecc.errors.uncorrected.aggregate.sram."+source.column, gpu.GroupECCLocations, "", set),
			xmlOnly("ecc.errors."+source.element, "ecc_errors/aggregate_uncorrectable_sram_sources/"+source.element, set))
	}
	for spares, name := range bankNames {
		fields = append(fields, column("remapped_rows.histogram."+name, gpu.GroupMemoryBanks, "remapped_rows/row_remapper_histogram/row_remapper_histogram_"+name,
			integerOf(unitBanks, func(b *builder) *gpu.Opt[int64] { return &device(b).MemoryBanks[spares] })))
	}
	return slices.Concat(fields, eccElements("volatile", volatile), eccElements("aggregate", aggregate))
}

// eccElements returns the counts of the three layouts of XML: single and double bit totals and each memory (before Turing), SRAM and DRAM, and
// uncorrected SRAM errors in two parts (Ampere and later, from driver 545 on).
func eccElements(name string, s scope) []Field {
	field := func(element string, set setter) Field {
		return xmlOnly("ecc.errors."+name+"."+strings.ReplaceAll(element, "/", "."), "ecc_errors/"+name+"/"+element, set)
	}
	total := func(e *eccParts) *gpu.Opt[int64] { return &e.total }
	sram := func(e *eccParts) *gpu.Opt[int64] { return &e.sram }
	dram := func(e *eccParts) *gpu.Opt[int64] { return &e.dram }
	fields := []Field{
		field("single_bit/total", ecc(s, corrected, total)).called("ecc.errors." + name + ".single_bit"),
		field("double_bit/total", ecc(s, uncorrected, total)).called("ecc.errors." + name + ".double_bit"),
		field("sram_correctable", ecc(s, corrected, sram)),
		field("dram_correctable", ecc(s, corrected, dram)),
		field("sram_uncorrectable", ecc(s, uncorrected, sram)),
		field("dram_uncorrectable", ecc(s, uncorrected, dram)),
		field("sram_uncorrectable_parity", ecc(s, uncorrected, func(e *eccParts) *gpu.Opt[int64] { return &e.parity })),
		field("sram_uncorrectable_secded", ecc(s, uncorrected, func(e *eccParts) *gpu.Opt[int64] { return &e.secded })),
	}
	for element, location := range olderMemories {
		fields = append(fields, field("single_bit/"+element, eccLocation(s, corrected, location)), field("double_bit/"+element, eccLocation(s, uncorrected, location)))
	}
	return fields
}
