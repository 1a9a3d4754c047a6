// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/view"
)

var gpuMetrics = []metric{
	{name: metadata.MetricsInfo.HwGpuInfo.Name, subject: ofIdentity, values: ratio},

	// What is 1 if it holds now.
	holds(metadata.MetricsInfo.HwStatus.Name, attrState, func(g *view.GPU, state *string) { g.Status = state }),
	holds(metadata.MetricsInfo.HwGpuRecoveryAction.Name, attrRecoveryAction, func(g *view.GPU, action *string) { g.RecoveryAction = action }),
	holds(metadata.MetricsInfo.HwGpuFabricState.Name, attrFabricState, func(g *view.GPU, state *string) { g.Fabric.State = state }),
	holds(metadata.MetricsInfo.HwGpuFault.Name, attrErrorType, func(g *view.GPU, fault *string) { list(&g.Faults, fault) }),
	holds(metadata.MetricsInfo.HwGpuThrottled.Name, attrThrottleReason, func(g *view.GPU, reason *string) { list(&g.Throttled, reason) }),
	holds(metadata.MetricsInfo.HwGpuMemoryRemapState.Name, attrRemapState, func(g *view.GPU, state *string) { list(&g.RemapStates, state) }),
	holds(metadata.MetricsInfo.HwGpuFabricCondition.Name, attrFabricCondition, func(g *view.GPU, condition *string) { list(&g.Fabric.Conditions, condition) }),
	holds(metadata.MetricsInfo.HwGpuModePending.Name, attrModeName, func(g *view.GPU, mode *string) { list(&g.PendingModes, mode) }),

	// Quantities without labels.
	quantity(metadata.MetricsInfo.HwGpuMemoryControllerUtilization.Name, ratio, func(g *view.GPU) **float64 { return &g.Utilization.MemoryController }),
	quantity(metadata.MetricsInfo.HwGpuMemoryLimit.Name, size, func(g *view.GPU) **float64 { return &g.Memory.Total }),
	quantity(metadata.MetricsInfo.HwGpuMemoryUsage.Name, size, func(g *view.GPU) **float64 { return &g.Memory.Used }),
	quantity(metadata.MetricsInfo.HwGpuMemoryReserved.Name, size, func(g *view.GPU) **float64 { return &g.Memory.Reserved }),
	quantity(metadata.MetricsInfo.HwPower.Name, watts, func(g *view.GPU) **float64 { return &g.Power.Watts }),
	quantity(metadata.MetricsInfo.HwEnergy.Name, counter, func(g *view.GPU) **float64 { return &g.Power.Energy }),
	quantity(metadata.MetricsInfo.HwGpuPcieReplays.Name, counter, func(g *view.GPU) **float64 { return &g.PCIe.Replays }),
	quantity(metadata.MetricsInfo.HwGpuMemoryPageBad.Name, counter, func(g *view.GPU) **float64 { return &g.BadPages.Count }),
	quantity(metadata.MetricsInfo.HwGpuMemoryPageBadLimit.Name, counter, func(g *view.GPU) **float64 { return &g.BadPages.Limit }),
	whole(metadata.MetricsInfo.HwGpuAllocated.Name, func(g *view.GPU) **int { return &g.Allocated }),
	whole(metadata.MetricsInfo.HwGpuPerformanceState.Name, func(g *view.GPU) **int { return &g.PerformanceState }),
	whole(metadata.MetricsInfo.HwGpuPcieGeneration.Name, func(g *view.GPU) **int { return &g.PCIe.Generation }),
	whole(metadata.MetricsInfo.HwGpuPcieGenerationLimit.Name, func(g *view.GPU) **int { return &g.PCIe.MaxGeneration }),
	whole(metadata.MetricsInfo.HwGpuPcieWidth.Name, func(g *view.GPU) **int { return &g.PCIe.Width }),
	whole(metadata.MetricsInfo.HwGpuPcieWidthLimit.Name, func(g *view.GPU) **int { return &g.PCIe.MaxWidth }),

	// Quantities by one label.
	each(metadata.MetricsInfo.HwGpuTemperatureMargin.Name, margin, attrLimitType, func(g *view.GPU) *map[string]float64 { return &g.Margins }),
	each(metadata.MetricsInfo.HwGpuSpeed.Name, hertz, attrClockDomain, func(g *view.GPU) *map[string]float64 { return &g.Clocks }),
	each(metadata.MetricsInfo.HwGpuThrottleTime.Name, counter, attrThrottleReason, func(g *view.GPU) *map[string]float64 { return &g.ThrottleTimes }),
	each(metadata.MetricsInfo.HwGpuXids.Name, counter, attrXID, func(g *view.GPU) *map[string]float64 { return &g.XIDs }),
	each(metadata.MetricsInfo.HwGpuMemoryRowRemapped.Name, counter, attrErrorType, func(g *view.GPU) *map[string]float64 { return &g.RemappedRows }),
	each(metadata.MetricsInfo.HwGpuMemoryPageRetired.Name, counter, attrErrorType, func(g *view.GPU) *map[string]float64 { return &g.RetiredPages }),
	each(metadata.MetricsInfo.HwGpuMemoryBankCount.Name, count, attrBankSpares, func(g *view.GPU) *map[string]float64 { return &g.MemoryBanks }),
	labelled(metadata.MetricsInfo.HwGpuUtilization.Name, ratio, []string{attrTask}, func(g *view.GPU, key *fieldKey, value float64) {
		if target := task(&g.Utilization, key.label(attrTask)); target != nil {
			*target = floatOf(value)
		}
	}),
	labelled(metadata.MetricsInfo.HwTemperature.Name, celsius, []string{attrSensor}, func(g *view.GPU, key *fieldKey, value float64) {
		sensor(g, key.label(attrSensor)).Celsius = floatOf(value)
	}),
	labelled(metadata.MetricsInfo.HwFanSpeedRatio.Name, ratio, []string{attrSensor}, func(g *view.GPU, key *fieldKey, value float64) {
		g.Fans = append(g.Fans, view.Fan{Sensor: key.label(attrSensor), Speed: value})
	}),
	labelled(metadata.MetricsInfo.HwPowerLimit.Name, watts, []string{attrLimitType}, func(g *view.GPU, key *fieldKey, value float64) {
		switch key.label(attrLimitType) {
		case "enforced":
			g.Power.Limit = floatOf(value)
		case "max":
			g.Power.MaxLimit = floatOf(value)
		}
	}),
	labelled(metadata.MetricsInfo.HwGpuIo.Name, counter, []string{attrDirection}, func(g *view.GPU, key *fieldKey, value float64) {
		if target := direction(key.label(attrDirection), &g.PCIe.Transmitted, &g.PCIe.Received); target != nil {
			*target = floatOf(value)
		}
	}),

	// Quantities by two labels.
	labelled(metadata.MetricsInfo.HwGpuSpeedLimit.Name, hertz, []string{attrClockDomain, attrLimitType}, func(g *view.GPU, key *fieldKey, value float64) {
		if key.label(attrLimitType) == "max" {
			put(&g.ClockLimits, key.label(attrClockDomain), value)
		}
	}),
	labelled(metadata.MetricsInfo.HwTemperatureLimit.Name, celsius, []string{attrSensor, attrLimitType}, func(g *view.GPU, key *fieldKey, value float64) {
		sensor(g, key.label(attrSensor)).Limits[key.label(attrLimitType)] = value
	}),
	labelled(metadata.MetricsInfo.HwErrors.Name, counter, []string{attrErrorType, attrErrorBlock}, func(g *view.GPU, key *fieldKey, value float64) {
		put(&g.Errors, key.label(attrErrorType), g.Errors[key.label(attrErrorType)]+value) // AMD counts by block, NVIDIA has one
	}),
	labelled(metadata.MetricsInfo.HwGpuPcieErrors.Name, counter, []string{attrErrorType, attrPCIeDevice}, func(g *view.GPU, key *fieldKey, value float64) {
		switch key.label(attrPCIeDevice) {
		case "gpu":
			put(&g.PCIe.Errors, key.label(attrErrorType), value)
		case "port":
			put(&g.PCIe.PortErrors, key.label(attrErrorType), value)
		}
	}),
	labelled(metadata.MetricsInfo.HwGpuInterconnectIo.Name, counter, []string{attrInterconnectType, attrDirection}, func(g *view.GPU, key *fieldKey, value float64) {
		link := interconnect(g, key.label(attrInterconnectType))
		if target := direction(key.label(attrDirection), &link.Transmitted, &link.Received); target != nil {
			*target = floatOf(value)
		}
	}),
	labelled(metadata.MetricsInfo.HwGpuInterconnectErrors.Name, counter, []string{attrInterconnectType, attrErrorType}, func(g *view.GPU, key *fieldKey, value float64) {
		interconnect(g, key.label(attrInterconnectType)).Errors[key.label(attrErrorType)] = value
	}),
	labelled(metadata.MetricsInfo.HwGpuInterconnectLinkCount.Name, count, []string{attrInterconnectType, attrLinkState}, func(g *view.GPU, key *fieldKey, value float64) {
		switch link := interconnect(g, key.label(attrInterconnectType)); key.label(attrLinkState) {
		case "up":
			link.LinksUp = intOf(value)
		case "down":
			link.LinksDown = intOf(value)
		}
	}),
}

func labelled(name string, values bounds, labels []string, show func(*view.GPU, *fieldKey, float64)) metric {
	return metric{name: name, subject: ofDevice, values: values, labels: labels, onGPU: show}
}

func holds(name, label string, show func(*view.GPU, *string)) metric {
	return labelled(name, ratio, []string{label}, func(g *view.GPU, key *fieldKey, value float64) {
		if value == 1 {
			show(g, key.optional(label))
		}
	})
}

func quantity(name string, values bounds, target func(*view.GPU) **float64) metric {
	return labelled(name, values, nil, func(g *view.GPU, _ *fieldKey, value float64) { *target(g) = floatOf(value) })
}

func whole(name string, target func(*view.GPU) **int) metric {
	return labelled(name, count, nil, func(g *view.GPU, _ *fieldKey, value float64) { *target(g) = intOf(value) })
}

func each(name string, values bounds, label string, target func(*view.GPU) *map[string]float64) metric {
	return labelled(name, values, []string{label}, func(g *view.GPU, key *fieldKey, value float64) { put(target(g), key.label(label), value) })
}
