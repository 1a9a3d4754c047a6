// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"cmp"
	"math"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// build is a Listing in the making: what was read so far, and the parts from which some quantities are put together.
type builder struct {
	listing   *Listing
	processes int

	gpu   GPU
	parts parts
	lost  string // what was printed in numbers' places
	reset string

	instance MIGDevice
	process  Process
}

// parts are readings of one GPU of which a preferred one is taken, or which are added up.
type parts struct {
	power, module       draw
	enforced, requested gpu.Opt[float64]
	protectedTotal      gpu.Opt[int64]

	ecc [numScopes][numKinds]eccParts

	pendingRetirement, pendingBlacklist gpu.Opt[bool]
	resetRequired, drainRecommended     gpu.Opt[bool]
	channelRepair, unrepairable         gpu.Opt[bool]
}

// draw is a power reading: averaged, instantaneous, or whichever of the two the driver chose.
type draw struct{ average, chosen, instant gpu.Opt[float64] }

type (
	scope uint8
	kind  uint8
)

// ECC errors since the driver was loaded and over the board's life; corrected and not.
const (
	volatile scope = iota
	aggregate
	numScopes
)

const (
	corrected kind = iota
	uncorrected
	numKinds
)

// eccParts are the counts of one kind. Older boards print a total. Newer ones print SRAM and DRAM, and some split
// uncorrected SRAM errors into parity and SEC-DED.
type eccParts struct {
	total, sram, parity, secded, dram gpu.Opt[int64]
	failed                            bool // a part could not be read, so that the sum would be too small
}

func (e eccParts) count() gpu.Opt[int64] {
	if e.total.Known() || e.failed {
		return e.total
	}
	return sum(e.sram.Or(sum(e.parity, e.secded)), e.dram)
}

// sum adds what is known; a board without one of the memories prints N/A for it.
func sum(a, b gpu.Opt[int64]) gpu.Opt[int64] {
	x, ok := a.Get()
	y, also := b.Get()
	if ok && also {
		if x > math.MaxInt64-y { // no counts, whatever they are
			return gpu.Opt[int64]{}
		}
		return gpu.Some(x + y)
	}
	return a.Or(b)
}

// note looks at the text that stands where a value was expected.
func (b *builder) note(quantity string, printed []byte) reason {
	v := reasonOf(printed)
	switch v {
	case reasonLost:
		b.lost = cmp.Or(b.lost, quoted(inBrackets(printed)))
	case reasonResetRequired:
		b.reset = cmp.Or(b.reset, quoted(inBrackets(printed)))
	case reasonError:
		refusal := Refusal{Quantity: quantity, Reason: quoted(inBrackets(printed))}
		if len(b.gpu.Refusals) < maxRefusals && !slices.Contains(b.gpu.Refusals, refusal) {
			b.gpu.Refusals = append(b.gpu.Refusals, refusal)
		}
	case reasonAbsent:
	}
	return v
}

// begin starts a GPU.
func (b *builder) begin() {
	b.gpu = GPU{Device: gpu.Device{Vendor: gpu.NVIDIA}}
	b.parts = parts{}
	b.lost, b.reset = "", ""
}

// end puts the parts of a GPU together and adds it to the log.
func (b *builder) end() {
	if len(b.listing.GPUs) >= maxGPUs {
		b.listing.Dropped++
		return
	}
	d := &b.gpu.Device
	p := &b.parts
	d.Power.Draw = p.power.average.Or(p.power.chosen).Or(p.power.instant)
	d.Power.Instant = p.power.instant
	d.Power.Module = p.module.average.Or(p.module.chosen).Or(p.module.instant)
	d.Power.Limit[gpu.LimitMax] = p.enforced.Or(p.requested)
	if total, ok := p.protectedTotal.Get(); ok && total == 0 { // there is none, as on a GPU that is not in that mode
		d.Memory.Protected = gpu.Opt[int64]{}
	}
	d.RetiredPages.Pending = p.pendingRetirement.Or(p.pendingBlacklist)
	b.countErrors()
	b.findFaults()
	d.Info.DriverVersion = b.listing.DriverVersion
	if b.gpu.Unreadable || b.lost != "" || b.reset != "" {
		// Numbers between such words are none that the driver has given: 0 MiB of memory in use.
		b.gpu = GPU{
			Device:     gpu.Device{ID: d.ID, Model: d.Model, Vendor: d.Vendor, Index: d.Index, Info: d.Info, Faults: d.Faults},
			Unreadable: true, Minor: b.gpu.Minor, MIGEnabled: b.gpu.MIGEnabled,
		}
	}
	b.listing.GPUs = append(b.listing.GPUs, b.gpu)
}

func (b *builder) countErrors() {
	d := &b.gpu.Device
	// The replay number's rollovers are no higher digits of the replay counter: each stands for four replays in a row,
	// which the counter has counted already (nvidia-smi's manual).
	for _, e := range []struct {
		count    gpu.Opt[int64]
		kind     gpu.ErrorType
		lifetime bool
	}{
		{b.parts.ecc[volatile][corrected].count(), gpu.ErrorCorrected, false},
		{b.parts.ecc[volatile][uncorrected].count(), gpu.ErrorUncorrected, false},
		{b.parts.ecc[aggregate][corrected].count(), gpu.ErrorCorrected, true},
		{b.parts.ecc[aggregate][uncorrected].count(), gpu.ErrorUncorrected, true},
	} {
		if n, ok := e.count.Get(); ok {
			d.Errors = append(d.Errors, gpu.ErrorCount{Type: e.kind, Count: gpu.Total(n), Lifetime: e.lifetime})
		}
	}
}

func (b *builder) findFaults() {
	d := &b.gpu.Device
	p := &b.parts
	if b.lost != "" {
		d.AddFault(gpu.FaultLost, b.lost)
	}
	if b.reset != "" {
		d.AddFault(gpu.FaultResetRequired, b.reset)
	}
	if on(p.resetRequired) {
		d.AddFault(gpu.FaultResetRequired, "the driver says that a reset is required")
	}
	if on(p.drainRecommended) {
		d.AddFault(gpu.FaultDrain, "the driver recommends to drain and reset")
	}
	if action, ok := d.RecoveryAction.Get(); ok {
		recoveryFault(d, action)
	}
	if on(d.RemappedRows.Failed) {
		d.AddFault(gpu.FaultRemapFailed, "a row could not be remapped")
	}
	if on(p.unrepairable) {
		d.AddFault(gpu.FaultRemapFailed, "memory is unrepairable")
	}
	if on(d.RemappedRows.Pending) {
		d.AddFault(gpu.FaultRemapPending, "rows wait for a reset to be remapped")
	}
	if on(d.RetiredPages.Pending) {
		d.AddFault(gpu.FaultRemapPending, "pages of memory are retired at the next reboot or reset of the GPU")
	}
	if on(p.channelRepair) {
		d.AddFault(gpu.FaultRemapPending, "a memory channel waits for a reset to be repaired")
	}
}

// recoveryFault notes what an action that the driver asks for says about the device.
func recoveryFault(d *gpu.Device, action gpu.RecoveryAction) {
	switch action {
	case gpu.RecoveryReset, gpu.RecoveryBusReset:
		d.AddFault(gpu.FaultResetRequired, "the driver asks for a reset")
	case gpu.RecoveryReboot:
		d.AddFault(gpu.FaultResetRequired, "the driver asks for a reboot of the node")
	case gpu.RecoveryDrainP2P:
		d.AddFault(gpu.FaultDrain, "the driver asks to drain peer-to-peer traffic")
	case gpu.RecoveryDrainAndReset:
		d.AddFault(gpu.FaultDrain, "the driver asks to drain and reset")
	case gpu.RecoveryIMEXDomain:
		d.AddFault(gpu.FaultDrain, "the driver asks to recover the IMEX domain")
	default:
	}
}

func on(o gpu.Opt[bool]) bool {
	v, _ := o.Get()
	return v
}
