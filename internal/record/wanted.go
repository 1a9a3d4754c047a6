// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// Wanted tells what the enabled metrics and events need to be read; metrics of containers only where use is attributed to
// them. Identity and health are always read.
func Wanted(m *metadata.MetricsConfig, e *metadata.EventsConfig, attributed bool) gpu.Group {
	var wanted gpu.Group
	need := func(group gpu.Group, enabled ...bool) {
		if slices.Contains(enabled, true) {
			wanted |= group
		}
	}
	health := m.HwStatus.Enabled || m.HwGpuFault.Enabled || e.HwGpuStatus.Enabled
	need(gpu.GroupUtilization, m.HwGpuUtilization.Enabled, m.HwGpuMemoryControllerUtilization.Enabled)
	need(gpu.GroupMediaUtilization, m.HwGpuUtilization.Enabled)
	need(gpu.GroupMemory, m.HwGpuMemoryUsage.Enabled, m.HwGpuMemoryLimit.Enabled, m.HwGpuMemoryUtilization.Enabled, m.HwGpuMemoryReserved.Enabled,
		m.HwGpuMemoryVisibleLimit.Enabled, m.HwGpuMemoryVisibleUsage.Enabled, m.HwGpuMemorySystemLimit.Enabled, m.HwGpuMemorySystemUsage.Enabled)
	need(gpu.GroupProtectedMemory, m.HwGpuMemoryProtectedUsage.Enabled)
	need(gpu.GroupTemperature, m.HwTemperature.Enabled)
	need(gpu.GroupTemperatureLimits, m.HwTemperatureLimit.Enabled, m.HwGpuTemperatureMargin.Enabled)
	need(gpu.GroupPower, m.HwPower.Enabled)
	need(gpu.GroupPowerDetail, m.HwGpuPowerInstant.Enabled, m.HwGpuModulePower.Enabled)
	need(gpu.GroupPowerLimit, m.HwPowerLimit.Enabled)
	need(gpu.GroupEnergy, m.HwEnergy.Enabled)
	need(gpu.GroupClocks, m.HwGpuSpeed.Enabled)
	need(gpu.GroupClockLimits, m.HwGpuSpeedLimit.Enabled)
	need(gpu.GroupThrottle, m.HwGpuThrottled.Enabled)
	need(gpu.GroupThrottleTime, m.HwGpuThrottleTime.Enabled)
	need(gpu.GroupPerformanceState, m.HwGpuPerformanceState.Enabled)
	need(gpu.GroupFans, m.HwFanSpeedRatio.Enabled)
	need(gpu.GroupPCIeIO, m.HwGpuIo.Enabled)
	need(gpu.GroupPCIeLink, m.HwGpuPcieGeneration.Enabled, m.HwGpuPcieGenerationLimit.Enabled, m.HwGpuPcieWidth.Enabled, m.HwGpuPcieWidthLimit.Enabled)
	need(gpu.GroupPCIeReplay|gpu.GroupECC, m.HwErrors.Enabled)
	need(gpu.GroupEvents, m.HwErrors.Enabled, e.HwGpuXid.Enabled)
	need(gpu.GroupInterconnect, m.HwGpuInterconnectIo.Enabled)
	need(gpu.GroupInterconnectErrors, m.HwErrors.Enabled)
	need(gpu.GroupInterconnectLinks, m.HwGpuInterconnectLinkIo.Enabled, m.HwGpuInterconnectLinkErrors.Enabled)
	need(gpu.GroupECCLifetime, m.HwGpuEccLifetime.Enabled)
	need(gpu.GroupRemappedRows, m.HwGpuMemoryRowsRemapped.Enabled, m.HwGpuMemoryPagesRetired.Enabled, m.HwGpuMemoryRemapState.Enabled, health)
	need(gpu.GroupPipes, m.HwGpuPipeUtilization.Enabled, m.HwGpuSmOccupancy.Enabled)
	need(gpu.GroupRecovery, m.HwGpuRecoveryAction.Enabled, health)
	if attributed {
		need(containerNeeds(m), true)
	}
	need(gpu.GroupProcesses, m.ProcessGpuMemoryUsage.Enabled, m.ProcessGpuUtilization.Enabled,
		e.ProcessGpuStarted.Enabled, e.ProcessGpuExited.Enabled)
	need(gpu.GroupProcessUtilization, m.ProcessGpuUtilization.Enabled)
	return wanted
}

// containerNeeds is what the container metrics are computed from.
func containerNeeds(m *metadata.MetricsConfig) gpu.Group {
	var needs gpu.Group
	if m.ContainerGpuAllocated.Enabled { // 0 of a container that has processes on a device which it does not hold
		needs |= gpu.GroupProcesses
	}
	if m.ContainerGpuUtilization.Enabled {
		needs |= gpu.GroupProcesses | gpu.GroupProcessUtilization | gpu.GroupUtilization | gpu.GroupMediaUtilization
	}
	if m.ContainerGpuMemoryUsage.Enabled || m.ContainerGpuMemoryLimit.Enabled {
		needs |= gpu.GroupProcesses | gpu.GroupMemory
	}
	if m.ContainerGpuPower.Enabled {
		needs |= gpu.GroupProcesses | gpu.GroupProcessUtilization | gpu.GroupUtilization | gpu.GroupPower
	}
	if m.ContainerGpuEnergy.Enabled {
		needs |= gpu.GroupProcesses | gpu.GroupProcessUtilization | gpu.GroupUtilization | gpu.GroupEnergy
	}
	if m.ContainerGpuIdleTime.Enabled {
		needs |= gpu.GroupProcesses | gpu.GroupProcessUtilization | gpu.GroupUtilization
	}
	return needs
}
