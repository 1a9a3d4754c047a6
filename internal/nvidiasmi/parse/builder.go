// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"cmp"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// builder builds a Listing: what was read so far, and the parts from which some quantities are composed.
type builder struct {
	listing   *Listing
	processes int
	cuda      string // version of CUDA that the driver supports

	gpu   GPU
	parts parts
	// absent counts the readings that the tool says do not exist. noMemory is true if the size of the memory is among them.
	absent   int
	noMemory bool
	lost     string // text that replaces numbers if the GPU is lost
	reset    string // text that replaces numbers if the GPU needs a reset

	migDevice MIGDevice
	process   Process
}

// parts are values of one GPU that are either alternatives or summands.
type parts struct {
	power, module, memory        draw
	enforced, requested, highest gpu.Opt[float64] // power limits in watts
	protectedTotal               gpu.Opt[int64]

	ecc           [numScopes][numKinds]eccParts
	eccEnabled    gpu.Opt[bool]
	sramThreshold gpu.Opt[bool]

	fabric       fabric
	pendingModes [gpu.NumModes]string
	licensed     gpu.Opt[bool]

	pendingRetirement, pendingBlacklist gpu.Opt[bool]
	resetRequired, drainRecommended     gpu.Opt[bool]
	channelRepair, clusterRepair        gpu.Opt[bool]
	unrepairable                        gpu.Opt[bool]
}

// draw is a power draw in watts: averaged, instantaneous, or whichever of the two the driver chose.
type draw struct{ average, chosen, instant gpu.Opt[float64] }

// note records the text that replaces an expected value.
func (b *builder) note(quantity string, printed []byte) {
	switch reasonOf(printed) {
	case reasonLost:
		b.lost = cmp.Or(b.lost, quoted(inBrackets(printed)))
	case reasonResetRequired:
		b.reset = cmp.Or(b.reset, quoted(inBrackets(printed)))
	case reasonError:
		if containsFold(printed, "corrupted inforom") {
			b.gpu.Device.AddFault(gpu.FaultInfoROM, gpu.CorruptInfoROM)
			break
		}
		refusal := Refusal{Quantity: quantity, Reason: quoted(inBrackets(printed))}
		if len(b.gpu.Refusals) < maxRefusals && !slices.Contains(b.gpu.Refusals, refusal) {
			b.gpu.Refusals = append(b.gpu.Refusals, refusal)
		}
	case reasonAbsent:
		if !slices.Contains(noReadings, quantity) {
			b.absent++
		}
		b.noMemory = b.noMemory || quantity == "memory.total" || quantity == "fb_memory_usage"
	}
}

// begin starts a GPU.
func (b *builder) begin() {
	b.gpu = GPU{Device: gpu.Device{Vendor: gpu.NVIDIA}}
	b.parts = parts{}
	b.absent, b.noMemory, b.lost, b.reset = 0, false, "", ""
}

// end composes the parts of a GPU and adds it to the listing.
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
	d.Power.Memory = p.memory.average.Or(p.memory.chosen).Or(p.memory.instant)
	d.Power.Limit[gpu.LimitEnforced] = p.enforced.Or(p.requested)
	d.Power.Limit[gpu.LimitMax] = p.highest
	if total, ok := p.protectedTotal.Get(); ok && total == 0 { // the GPU is not in confidential-computing mode
		d.Memory.Protected = gpu.Opt[int64]{}
	}
	d.RetiredPages.Pending = p.pendingRetirement.Or(p.pendingBlacklist)
	b.gpu.AddMargins(&b.gpu.TLimitPoints)
	b.addFabric()
	b.addModes()
	dropSentinels(d)
	if p.eccEnabled != gpu.Some(false) {
		b.addErrors()
	}
	b.addFaults()
	if reason := unanswered(&b.gpu); reason != "" && !b.gpu.Unreadable && b.lost == "" && b.reset == "" {
		d.AddFault(gpu.FaultUnreachable, "none of its values can be read: "+reason)
		b.gpu.Unreadable = true
	}
	b.gpu.ResetRequired = b.reset != ""
	b.gpu.Silent = b.lost == "" && b.reset == "" && b.noMemory && b.absent >= minAbsent && len(b.gpu.Refusals) == 0 && !hasReading(d)
	d.Info.DriverVersion = b.listing.DriverVersion
	d.Info.CUDAVersion = b.cuda
	switch {
	case b.gpu.Unreadable || b.lost != "":
		// Numbers between such texts did not come from the driver, such as 0 MiB of used memory.
		b.gpu = GPU{
			Device:     gpu.Device{ID: d.ID, Model: d.Model, Vendor: d.Vendor, Index: d.Index, Info: d.Info, Faults: d.Faults},
			Unreadable: true, Minor: b.gpu.Minor, MIGEnabled: b.gpu.MIGEnabled,
		}
	case b.reset != "":
		// The driver still answers for some quantities. These the tool invents if it does not.
		d.Power.Limit = [gpu.NumLimits]gpu.Opt[float64]{}
		if d.Memory.Usage == gpu.Some(int64(0)) {
			d.Memory.Usage = gpu.Opt[int64]{}
		}
	}
	b.listing.GPUs = append(b.listing.GPUs, b.gpu)
}

// addFaults adds the faults. If NVML reports the same, their messages are the messages of the nvml scraper.
func (b *builder) addFaults() {
	d := &b.gpu.Device
	p := &b.parts
	if b.lost != "" {
		d.AddFault(gpu.FaultLost, b.lost)
	}
	if b.reset != "" {
		d.AddFault(gpu.FaultResetRequired, b.reset)
	}
	if isTrue(p.resetRequired) {
		d.AddFault(gpu.FaultResetRequired, "the driver reports that a reset is required")
	}
	if isTrue(p.drainRecommended) {
		d.AddFault(gpu.FaultDrain, "the driver recommends to drain and reset the GPU")
	}
	if action, ok := d.RecoveryAction.Get(); ok {
		addRecoveryFault(d, action)
	}
	addRowFaults(d)
	if isTrue(p.unrepairable) {
		d.AddFault(gpu.FaultRemapFailed, "memory is unrepairable")
	}
	if isTrue(d.RetiredPages.Pending) {
		d.AddFault(gpu.FaultRemapPending, "pages of memory are retired at the next reboot or reset of the GPU")
	}
	if isTrue(p.channelRepair) {
		d.AddFault(gpu.FaultRemapPending, "a memory channel is repaired at the next reset of the GPU")
	}
	if isTrue(p.clusterRepair) {
		d.AddFault(gpu.FaultRemapPending, "a processing cluster (TPC) is repaired at the next reset of the GPU")
	}
}

func addRowFaults(d *gpu.Device) {
	if isTrue(d.RemappedRows.Failed) {
		d.AddFault(gpu.FaultRemapFailed, "a row of memory could not be remapped")
	}
	if isTrue(d.RemappedRows.Pending) {
		d.AddFault(gpu.FaultRemapPending, "rows of memory are remapped at the next reset of the GPU")
	}
}

// addRecoveryFault adds the fault that follows from a recovery action which the driver asks for.
func addRecoveryFault(d *gpu.Device, action gpu.RecoveryAction) {
	switch action {
	case gpu.RecoveryReset, gpu.RecoveryBusReset:
		d.AddFault(gpu.FaultResetRequired, "the driver asks for a reset of the GPU")
	case gpu.RecoveryReboot:
		d.AddFault(gpu.FaultResetRequired, "the driver asks for a reboot of the node")
	case gpu.RecoveryDrainP2P:
		d.AddFault(gpu.FaultDrain, "the driver asks for peer-to-peer traffic to be drained")
	case gpu.RecoveryDrainAndReset:
		d.AddFault(gpu.FaultDrain, "the driver asks for the GPU to be drained and then reset")
	case gpu.RecoveryIMEXDomain:
		d.AddFault(gpu.FaultDrain, "the driver asks for the IMEX domain to be recovered")
	default:
	}
}

func isTrue(o gpu.Opt[bool]) bool {
	v, _ := o.Get()
	return v
}
