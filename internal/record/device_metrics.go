// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// health is the groups that a source reads for the faults of a device: remapped rows and bad pages, the recovery action, the fabric, SRAM's threshold.
const health = gpu.GroupRemappedRows | gpu.GroupRecovery | gpu.GroupFabric | gpu.GroupECCMemory

// deviceMetrics is the table of the metrics of devices, sorted by name.
func deviceMetrics(m *metadata.MetricsConfig) []metric[*devicePoints] {
	type device = gpu.Device
	return []metric[*devicePoints]{
		{m.HwEnergy.Enabled, gpu.GroupEnergy, recordEnergy},
		{m.HwErrors.Enabled, gpu.GroupECC, recordErrors},
		{m.HwFanSpeedRatio.Enabled, gpu.GroupFans, recordFans},
		{m.HwGpuAllocated.Enabled, 0, recordAllocated},
		{m.HwGpuBar1MemoryLimit.Enabled, gpu.GroupBAR1, value(func(d *device) gpu.Opt[int64] { return d.Memory.BAR1Limit }, (*builder).RecordHwGpuBar1MemoryLimitDataPoint)},
		{m.HwGpuBar1MemoryUsage.Enabled, gpu.GroupBAR1, value(func(d *device) gpu.Opt[int64] { return d.Memory.BAR1Usage }, (*builder).RecordHwGpuBar1MemoryUsageDataPoint)},
		{m.HwGpuBoardInfo.Enabled, 0, recordBoardInfo},
		{m.HwGpuEccLifetime.Enabled, gpu.GroupECCLifetime, recordLifetimeErrors},
		{m.HwGpuEccLocationErrors.Enabled, gpu.GroupECCLocations, recordLocationErrors},
		{m.HwGpuEccMemoryErrors.Enabled, gpu.GroupECCMemory, recordMemoryErrors},
		{m.HwGpuEccSramThresholdExceeded.Enabled, gpu.GroupECCMemory, value(sramThreshold, (*builder).RecordHwGpuEccSramThresholdExceededDataPoint)},
		{m.HwGpuEncoderFrameRate.Enabled, gpu.GroupEncoderSessions, value(func(d *device) gpu.Opt[float64] { return d.Encoder.FrameRate }, (*builder).RecordHwGpuEncoderFrameRateDataPoint)},
		{m.HwGpuEncoderLatency.Enabled, gpu.GroupEncoderSessions, value(func(d *device) gpu.Opt[float64] { return d.Encoder.Latency }, (*builder).RecordHwGpuEncoderLatencyDataPoint)},
		{m.HwGpuEncoderSessionCount.Enabled, gpu.GroupEncoderSessions, value(func(d *device) gpu.Opt[int64] { return d.Encoder.Count }, (*builder).RecordHwGpuEncoderSessionCountDataPoint)},
		{m.HwGpuFabricCondition.Enabled, gpu.GroupFabric, recordFabricConditions},
		{m.HwGpuFabricState.Enabled, gpu.GroupFabric, recordFabricState},
		{m.HwGpuFanSpeed.Enabled, gpu.GroupFanSpeed, recordFanSpeeds},
		{m.HwGpuFault.Enabled, health, recordFaults},
		{m.HwGpuFrameBufferCaptureFrameRate.Enabled, gpu.GroupFrameBufferCapture, value(func(d *device) gpu.Opt[float64] { return d.FrameBuffer.FrameRate }, (*builder).RecordHwGpuFrameBufferCaptureFrameRateDataPoint)},
		{m.HwGpuFrameBufferCaptureLatency.Enabled, gpu.GroupFrameBufferCapture, value(func(d *device) gpu.Opt[float64] { return d.FrameBuffer.Latency }, (*builder).RecordHwGpuFrameBufferCaptureLatencyDataPoint)},
		{m.HwGpuFrameBufferCaptureSessionCount.Enabled, gpu.GroupFrameBufferCapture, value(func(d *device) gpu.Opt[int64] { return d.FrameBuffer.Count }, (*builder).RecordHwGpuFrameBufferCaptureSessionCountDataPoint)},
		{m.HwGpuInfo.Enabled, 0, recordInfo},
		{m.HwGpuInterconnectErrors.Enabled, gpu.GroupInterconnectErrors, recordInterconnectErrors},
		{m.HwGpuInterconnectIo.Enabled, gpu.GroupInterconnect, recordInterconnectIO},
		{m.HwGpuInterconnectLinkBandwidth.Enabled, gpu.GroupInterconnectSpeed, recordLinkBandwidths},
		{m.HwGpuInterconnectLinkBitErrorRatio.Enabled, gpu.GroupInterconnectBitErrors, recordBitErrorRatios},
		{m.HwGpuInterconnectLinkCount.Enabled, gpu.GroupInterconnectState, recordLinkCount},
		{m.HwGpuInterconnectLinkErrors.Enabled, gpu.GroupInterconnectLinks, recordLinkErrors},
		{m.HwGpuInterconnectLinkFecErrors.Enabled, gpu.GroupInterconnectBitErrors, recordFEC},
		{m.HwGpuInterconnectLinkIo.Enabled, gpu.GroupInterconnectLinks, recordLinkIO},
		{m.HwGpuInterconnectLinkState.Enabled, gpu.GroupInterconnectState, recordLinkStates},
		{m.HwGpuInterconnectLinkWidth.Enabled, gpu.GroupInterconnectSpeed, recordLinkWidths},
		{m.HwGpuIo.Enabled, gpu.GroupPCIeIO, recordPCIeIO},
		{m.HwGpuMemoryBankCount.Enabled, gpu.GroupMemoryBanks, recordMemoryBanks},
		{m.HwGpuMemoryControllerUtilization.Enabled, gpu.GroupUtilization, value(func(d *device) gpu.Opt[float64] { return d.MemoryController }, (*builder).RecordHwGpuMemoryControllerUtilizationDataPoint)},
		{m.HwGpuMemoryLimit.Enabled, gpu.GroupMemory, value(func(d *device) gpu.Opt[int64] { return d.Memory.Limit }, (*builder).RecordHwGpuMemoryLimitDataPoint)},
		{m.HwGpuMemoryPageBad.Enabled, gpu.GroupRemappedRows, value(func(d *device) gpu.Opt[int64] { return d.RetiredPages.Bad }, (*builder).RecordHwGpuMemoryPageBadDataPoint)},
		{m.HwGpuMemoryPageBadLimit.Enabled, gpu.GroupRemappedRows, value(func(d *device) gpu.Opt[int64] { return d.RetiredPages.BadLimit }, (*builder).RecordHwGpuMemoryPageBadLimitDataPoint)},
		{m.HwGpuMemoryPageRetired.Enabled, gpu.GroupRemappedRows, recordPagesRetired},
		{m.HwGpuMemoryPower.Enabled, gpu.GroupPowerDetail, value(func(d *device) gpu.Opt[float64] { return d.Power.Memory }, (*builder).RecordHwGpuMemoryPowerDataPoint)},
		{m.HwGpuMemoryProtectedUsage.Enabled, gpu.GroupProtectedMemory, value(func(d *device) gpu.Opt[int64] { return d.Memory.Protected }, (*builder).RecordHwGpuMemoryProtectedUsageDataPoint)},
		{m.HwGpuMemoryRemapState.Enabled, gpu.GroupRemappedRows, recordRemapState},
		{m.HwGpuMemoryReserved.Enabled, gpu.GroupMemory, value(func(d *device) gpu.Opt[int64] { return d.Memory.Reserved }, (*builder).RecordHwGpuMemoryReservedDataPoint)},
		{m.HwGpuMemoryRowRemapped.Enabled, gpu.GroupRemappedRows, recordRowsRemapped},
		{m.HwGpuMemorySystemLimit.Enabled, gpu.GroupMemory, value(func(d *device) gpu.Opt[int64] { return d.Memory.SystemLimit }, (*builder).RecordHwGpuMemorySystemLimitDataPoint)},
		{m.HwGpuMemorySystemUsage.Enabled, gpu.GroupMemory, value(func(d *device) gpu.Opt[int64] { return d.Memory.SystemUsage }, (*builder).RecordHwGpuMemorySystemUsageDataPoint)},
		{m.HwGpuMemoryUsage.Enabled, gpu.GroupMemory, value(func(d *device) gpu.Opt[int64] { return d.Memory.Usage }, (*builder).RecordHwGpuMemoryUsageDataPoint)},
		{m.HwGpuMemoryUtilization.Enabled, gpu.GroupMemory, value(memoryUtilization, (*builder).RecordHwGpuMemoryUtilizationDataPoint)},
		{m.HwGpuMemoryVisibleLimit.Enabled, gpu.GroupMemory, value(func(d *device) gpu.Opt[int64] { return d.Memory.VisibleLimit }, (*builder).RecordHwGpuMemoryVisibleLimitDataPoint)},
		{m.HwGpuMemoryVisibleUsage.Enabled, gpu.GroupMemory, value(func(d *device) gpu.Opt[int64] { return d.Memory.VisibleUsage }, (*builder).RecordHwGpuMemoryVisibleUsageDataPoint)},
		{m.HwGpuModeCurrent.Enabled, gpu.GroupModes, recordModes},
		{m.HwGpuModePending.Enabled, gpu.GroupPendingModes, recordPendingModes},
		{m.HwGpuModulePower.Enabled, gpu.GroupPowerDetail, value(func(d *device) gpu.Opt[float64] { return d.Power.Module }, (*builder).RecordHwGpuModulePowerDataPoint)},
		{m.HwGpuPcieErrors.Enabled, gpu.GroupPCIeErrors, recordPCIeErrors},
		{m.HwGpuPcieGeneration.Enabled, gpu.GroupPCIeLink, value(func(d *device) gpu.Opt[int64] { return d.PCIe.Generation }, (*builder).RecordHwGpuPcieGenerationDataPoint)},
		{m.HwGpuPcieGenerationLimit.Enabled, gpu.GroupPCIeLink, value(func(d *device) gpu.Opt[int64] { return d.PCIe.GenerationLimit }, (*builder).RecordHwGpuPcieGenerationLimitDataPoint)},
		{m.HwGpuPcieNaks.Enabled, gpu.GroupPCIeDetail, recordPCIeNAKs},
		{m.HwGpuPcieRecoveries.Enabled, gpu.GroupPCIeDetail, recordPCIeRecoveries},
		{m.HwGpuPcieReplayRollovers.Enabled, gpu.GroupPCIeDetail, recordPCIeRollovers},
		{m.HwGpuPcieReplays.Enabled, gpu.GroupPCIeReplay, recordPCIeReplays},
		{m.HwGpuPcieWidth.Enabled, gpu.GroupPCIeLink, value(func(d *device) gpu.Opt[int64] { return d.PCIe.Width }, (*builder).RecordHwGpuPcieWidthDataPoint)},
		{m.HwGpuPcieWidthLimit.Enabled, gpu.GroupPCIeLink, value(func(d *device) gpu.Opt[int64] { return d.PCIe.WidthLimit }, (*builder).RecordHwGpuPcieWidthLimitDataPoint)},
		{m.HwGpuPeerStatus.Enabled, gpu.GroupPeers, recordPeers},
		{m.HwGpuPerformanceState.Enabled, gpu.GroupPerformanceState, value(func(d *device) gpu.Opt[int64] { return d.PerformanceState }, (*builder).RecordHwGpuPerformanceStateDataPoint)},
		{m.HwGpuPipeUtilization.Enabled, gpu.GroupPipes, recordPipeUtilization},
		{m.HwGpuPowerInstant.Enabled, gpu.GroupPowerDetail, value(func(d *device) gpu.Opt[float64] { return d.Power.Instant }, (*builder).RecordHwGpuPowerInstantDataPoint)},
		{m.HwGpuRecoveryAction.Enabled, gpu.GroupRecovery, recordRecoveryAction},
		{m.HwGpuSmOccupancy.Enabled, gpu.GroupPipes, value(func(d *device) gpu.Opt[float64] { return d.Occupancy }, (*builder).RecordHwGpuSmOccupancyDataPoint)},
		{m.HwGpuSpeed.Enabled, gpu.GroupClocks, recordClockSpeeds},
		{m.HwGpuSpeedLimit.Enabled, gpu.GroupClockLimits, recordClockLimits},
		{m.HwGpuTemperatureDetail.Enabled, gpu.GroupTemperatureDetail, recordTemperatureDetail},
		{m.HwGpuTemperatureMargin.Enabled, gpu.GroupTemperatureLimits, recordTemperatureMargins},
		{m.HwGpuThrottleTime.Enabled, gpu.GroupThrottleTime, recordThrottleTimes},
		{m.HwGpuThrottled.Enabled, gpu.GroupThrottle, recordThrottled},
		{m.HwGpuUtilization.Enabled, gpu.GroupUtilization | gpu.GroupMediaUtilization, recordUtilization},
		{m.HwGpuVgpuLicensed.Enabled, gpu.GroupVGPULicense, value(vgpuLicensed, (*builder).RecordHwGpuVgpuLicensedDataPoint)},
		{m.HwGpuXccUtilization.Enabled, gpu.GroupXCCUtilization, recordXCCUtilization},
		{m.HwGpuXids.Enabled, gpu.GroupEvents, recordXIDs},
		{m.HwPower.Enabled, gpu.GroupPower, recordPower},
		{m.HwPowerLimit.Enabled, gpu.GroupPowerLimit, recordPowerLimits},
		{m.HwStatus.Enabled, health, recordStatus},
		{m.HwTemperature.Enabled, gpu.GroupTemperature, recordTemperatures},
		{m.HwTemperatureLimit.Enabled, gpu.GroupTemperatureLimits, recordTemperatureLimits},
		{m.HwVoltage.Enabled, gpu.GroupVoltage, recordVoltages},
	}
}

// value records a quantity with one value for each device. Its only attributes are those that identify the device.
func value[N gpu.Number](get func(*gpu.Device) gpu.Opt[N], record recordFunc[N]) func(*devicePoints) {
	return func(p *devicePoints) {
		if v, ok := get(p.device).Get(); ok {
			record(p.builder, p.ts, v, p.device.ID, p.identity...)
		}
	}
}
