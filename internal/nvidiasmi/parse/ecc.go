// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"math"

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
func setECCMode(b *builder, printed []byte) {
	if v, ok := boolean(printed); ok {
		b.parts.eccEnabled = gpu.Some(v)
		return
	}
	if b.note("ecc.mode", printed) == reasonAbsent && string(inBrackets(printed)) != functionNotFound {
		b.parts.eccEnabled = gpu.Some(false)
	}
}

// ecc returns a setter of one part of an ECC count.
func ecc(quantity string, s scope, k kind, to func(*eccParts) *gpu.Opt[int64]) setter {
	return func(b *builder, printed []byte) {
		p := &b.parts.ecc[s][k]
		if v, ok := integer(printed, unitCount); ok {
			*to(p) = gpu.Some(v)
			return
		}
		if b.note(quantity, printed) != reasonAbsent || string(inBrackets(printed)) == functionNotFound {
			p.failed = true // the memory may have errors that this driver does not report
		}
	}
}

// eccLocation returns a setter of the errors of one memory over the GPU's life, or of an older GPU. Its failure does not concern the counts.
func eccLocation(quantity string, s scope, k kind, location gpu.ErrorLocation) setter {
	return integerOf(quantity, unitCount, func(b *builder) *gpu.Opt[int64] { return &b.parts.ecc[s][k].locations[location] })
}

// sramSources are the parts of the chip by which newer GPUs count uncorrected errors of SRAM, by their names in XML and in tables.
func sramSources() []sramSource {
	return []sramSource{
		{gpu.LocationL2, "sram_l2", "l2"},
		{gpu.LocationSM, "sram_sm", "sm"},
		{gpu.LocationMicrocontroller, "sram_microcontroller", "mcu"},
		{gpu.LocationPCIe, "sram_pcie", "pcie"},
		{gpu.LocationOther, "sram_other", "other"},
	}
}

type sramSource struct {
	location        gpu.ErrorLocation
	element, column string
}

func setSRAMThreshold() setter {
	return boolOf("ecc.sram.threshold", func(b *builder) *gpu.Opt[bool] { return &b.parts.sramThreshold })
}
