// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import "slices"

// remedies by fault (error.type of hw.gpu.fault), the most urgent first in faultOrder.
var remedies = map[string]string{
	"lost":               "Reboot the node. If the GPU is lost again, check its seat, power and cooling, and have it replaced.",
	"unreachable":        "Reboot the node. If the GPU is unreachable again, check its seat, power and cooling, and have it replaced.",
	"hung":               "End what runs on the GPU and reset it. If the reset hangs too, reboot the node. The kernel's log has the cause.",
	"reset_required":     "Move its work away and reset the GPU.",
	"driver_mismatch":    "Restart the collector: the driver was replaced while it ran.",
	"remap_failed":       "Have the GPU replaced: a row of its memory could not be remapped.",
	"remap_pending":      "Reset the GPU when its work allows it: the reset remaps rows of its memory.",
	"drain":              "Let its work end, start no more, then reset the GPU.",
	"recovery_requested": "Do what the driver asks for. If it asks for nothing, reset the GPU.",
	"sram_threshold":     "Have the GPU replaced: its SRAM has had more uncorrectable errors than the vendor allows.",
	"bad_page_threshold": "Have the GPU replaced: too many pages of its memory are bad.",
	"inforom_corrupted":  "Contact the vendor's support: the board's infoROM is corrupted, so its serial number and its counts of errors may be wrong.",
	"fabric":             "Check the fabric manager of the node and its NVLink switches. If they have no problem, reset the GPU.",
}

var faultOrder = []string{
	"driver_mismatch", "lost", "unreachable", "hung", "reset_required", "remap_failed", "sram_threshold", "bad_page_threshold", "drain",
	"recovery_requested", "fabric", "inforom_corrupted", "remap_pending",
}

func remedyOfFaults(faults []string) string {
	for _, fault := range faultOrder {
		if slices.Contains(faults, fault) {
			return remedies[fault]
		}
	}
	return "Look at the kernel's log; reset the GPU or reboot the node."
}

func remedyOfAction(action string) string {
	switch action {
	case "reset":
		return "Move its work away and reset the GPU."
	case "reboot":
		return "Move the node's work away and reboot it."
	case "drain_p2p":
		return "End the work that uses this GPU together with other GPUs, and start no more. Check the links between the GPUs."
	case "drain_and_reset":
		return "Let its work end, start no more, then reset the GPU."
	case "bus_reset":
		return "Move its work away and reset the GPU on its PCI bus, or reboot the node."
	case "imex_domain":
		return "Restart the IMEX domain of the node."
	}
	return "Do what the driver asks for. The driver's documentation explains the action."
}

func remedyOfThrottling(reasons []string) string {
	for _, reason := range reasons {
		switch reason {
		case "hw_power_brake_slowdown":
			return "Check the power supply of the node: it asks the GPU to slow down."
		case "current":
			return "If it lasts, check the power supply of the node."
		case "hw_slowdown":
			return "Check the cooling and the power supply of the node."
		}
	}
	return "Check the cooling: fans, air flow, and the temperature of the room. docs/troubleshoot/symptoms.md has the reasons."
}

// remedyOfReason returns what to do where a source cannot be read for a reason (error.type of hw.gpu.source.failure).
func remedyOfReason(reason string) string {
	switch reason {
	case "tool_missing":
		return "Install the vendor's tool on the node, or correct the rights of the folders of its path."
	case "tool_failed":
		return "Run the command by hand. The collector's log names it."
	case "timeout":
		return "Look at the node's kernel log: a call was started and did not return. If the tool is only slow, raise the timeout."
	case "permission_denied":
		return "Give the collector the right that its log names."
	case "library":
		return "Install the GPU driver on the node. A container also needs it mounted by its runtime (runtime class nvidia, NVIDIA_VISIBLE_DEVICES=all, " +
			"NVIDIA_DRIVER_CAPABILITIES=utility). During an update, wait for its end."
	case "driver":
		return "Load the kernel driver. After an update, reload the driver or reboot the node."
	case "output":
		return "Run the tool by hand; if its output is correct, report a bug of gpureceiver."
	case "api_unreachable":
		return "Check the API server's address, the network, and the certificate authority."
	case "api_unauthorized":
		return "Renew the credentials for the API server."
	case "api_forbidden":
		return "Grant the right that the collector's log names."
	case "exec_failed":
		return "Check that the container runs and has the tool."
	case "container_missing":
		return "Install the GPU operator, or add a target that selects a running pod on the node."
	}
	return "Look at the log of the collector that reads it."
}
