// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// remedyOfFaults returns what to do about the most urgent of the faults (error.type of hw.gpu.fault).
func remedyOfFaults(faults ...string) string {
	if text := remedyFor(faults...).Text(); text != "" {
		return text
	}
	return "Look at the kernel's log; reset the GPU or restart the node."
}

// remedyFor returns the remedy of the most urgent of the faults.
func remedyFor(faults ...string) gpu.Remedy {
	for _, r := range gpu.Remedies {
		if slices.Contains(faults, r.Name) {
			return r
		}
	}
	return gpu.Remedy{}
}

func remedyOfAction(action string) string {
	switch action {
	case "reset":
		return gpu.RemedyFor(gpu.FaultResetRequired).Text()
	case "reboot":
		return "Move the node's work away and reboot it."
	case "drain_p2p":
		return "Stop the work that uses this GPU together with other GPUs, and start no new work. Check the links between the GPUs."
	case "drain_and_reset":
		return gpu.RemedyFor(gpu.FaultDrain).Text()
	case "bus_reset":
		return "Move its work away and reset the GPU on its PCI bus, or reboot the node."
	case "imex_domain":
		return "Restart the IMEX domain of the node."
	}
	return gpu.RemedyFor(gpu.FaultRecovery).Text()
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
	return "Check the cooling: fans, air flow, and the temperature of the room. docs/troubleshoot/symptoms.md lists the reasons."
}

// remedyOfReason returns what to do if a source cannot be read for a reason (error.type of hw.gpu.source.failure).
func remedyOfReason(reason string) string {
	switch reason {
	case "tool_missing":
		return "Install the vendor's tool on the node, or correct the permissions of the directories in its path."
	case "tool_failed":
		return "Run the command by hand. The collector's log names it."
	case "timeout":
		return "Look at the node's kernel log: a call was started and did not return. If the tool is only slow, raise the timeout."
	case "permission_denied":
		return "Grant the collector the permission that its log names."
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
		return "Grant the permission that the collector's log names."
	case "exec_failed":
		return "Check that the container runs and contains the tool."
	case "container_missing":
		return "Install the GPU operator, or add a target that selects a running pod on the node."
	}
	return "Look at the log of the collector that reads it."
}
