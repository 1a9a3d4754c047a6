// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"slices"
	"strings"
)

// Remedy is what to do about a fault. The log, the page, otelgpu doctor and the shipped alerts have it from here.
type Remedy struct {
	Fault  FaultType
	Name   string // error.type of hw.gpu.fault
	Action string // hw.gpu.recommended_action
	First  string // what to do first, for people; a clause
	Then   string // why, and what to do if that does not help; sentences
	Alert  string // the shipped alert for the fault; its section of docs/operate/alerts.md is the runbook
}

// Remedies has the faults in the order in which they are dealt with, the most urgent first.
var Remedies = [NumFaultTypes]Remedy{
	{
		FaultDriverMismatch, "driver_mismatch", "restart_collector", "restart the collector",
		"The driver was replaced while it ran. If that does not help, reload the driver or restart the node.", "GPUUnreachable",
	},
	{
		FaultLost, "lost", "restart_bm", "restart the node",
		"If the GPU is lost again, check its seat, power and cooling, and replace it.", "GPUFailed",
	},
	{
		FaultUnreachable, "unreachable", "restart_bm", "restart the node",
		"If the GPU is unreachable again, look at the kernel's log, check its seat, power and cooling, and replace it.", "GPUUnreachable",
	},
	{
		FaultHung, "hung", "reset_gpu", "stop what runs on the GPU and reset it",
		"If the reset hangs too, restart the node. The kernel's log shows the cause.", "GPUFailed",
	},
	{FaultResetRequired, "reset_required", "reset_gpu", "move its work away and reset the GPU", "If the reset fails, restart the node.", "GPUFailed"},
	{
		FaultRemapFailed, "remap_failed", "replace_gpu", "replace the GPU",
		"Keep it out of service until then: a part of its memory failed and cannot be repaired.", "GPURowRemapFailed",
	},
	{
		FaultSRAMThreshold, "sram_threshold", "replace_gpu", "replace the GPU",
		"Its SRAM reported more uncorrectable errors than the vendor allows. Drain it and run the vendor's diagnostics before you return it.",
		"GPUSRAMThresholdExceeded",
	},
	{FaultBadPageThreshold, "bad_page_threshold", "replace_gpu", "replace the GPU", "Drain it: too many pages of its memory are bad.", "GPUBadPagesAtLimit"},
	{FaultDrain, "drain", "drain_and_reset", "let its work finish, start no new work, then reset the GPU", "", "GPUFault"},
	{FaultRecovery, "recovery_requested", "follow_recovery_action", "do what the driver asks for", "The driver's documentation explains the action.", "GPUFault"},
	{
		FaultFabric, "fabric", "check_fabric", "check the fabric manager of the node and its NVLink switches",
		"The fabric manager's log shows the reason. If they have no problem, reset the GPU.", "GPUFabricUnhealthy",
	},
	{
		FaultInfoROM, "inforom_corrupted", "contact_support", "contact the vendor's support",
		"The board's infoROM is corrupted, so its serial number and its counts of errors may be wrong.", "GPUFault",
	},
	{
		FaultRemapPending, "remap_pending", "reset_gpu", "reset the GPU when its work allows it",
		"The reset takes a bad part of the GPU out of use. Until then, uncorrected errors may occur again.", "GPURowRemapPending",
	},
}

// RemedyFor returns what to do about the most urgent of the faults; without a fault, nothing.
func RemedyFor(faults ...FaultType) Remedy {
	for _, r := range Remedies {
		if slices.Contains(faults, r.Fault) {
			return r
		}
	}
	return Remedy{}
}

// Text returns all of the advice as sentences.
func (r Remedy) Text() string {
	if r.First == "" {
		return ""
	}
	return strings.TrimSpace(strings.ToUpper(r.First[:1]) + r.First[1:] + ". " + r.Then)
}
