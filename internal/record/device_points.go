// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

const hwTypeGPU = metadata.AttributeHwTypeGpu

// devicePoints records the points of one device.
type devicePoints struct {
	builder  *builder
	ts       pcommon.Timestamp
	host     *gpu.Host
	device   *gpu.Device
	identity []metadata.MetricAttributeOption // what every point of the device has in addition to hw.id
	starts   *startTimes
	series   deviceSeries
	past     *pastStates
}

func newDevicePoints(
	b *builder, starts *startTimes, past *pastStates, ts pcommon.Timestamp, host *gpu.Host, d *gpu.Device,
) *devicePoints {
	return &devicePoints{
		builder: b, ts: ts, host: host, device: d, identity: deviceIdentity(d), starts: starts, series: starts.device(d.ID), past: past,
	}
}

// deviceIdentity returns the attributes that identify a device on its points.
func deviceIdentity(d *gpu.Device) []metadata.MetricAttributeOption {
	var options []metadata.MetricAttributeOption
	options = withText(options, d.Model, metadata.WithHwModelMetricAttribute)
	options = withText(options, d.Name, metadata.WithHwNameMetricAttribute)
	options = withText(options, d.Parent, metadata.WithHwParentMetricAttribute)
	options = withText(options, string(d.Vendor), metadata.WithHwVendorMetricAttribute)
	return slices.Clip(options) // appending copies it
}

// recordTotal records a point of a counter that starts at its own time. key distinguishes the point from the other points of the device.
func recordTotal[N gpu.Number](p *devicePoints, key seriesKey, counter gpu.Counter[N], record func(total N, options ...metadata.MetricAttributeOption)) {
	recordTotalOf(p, p.device.Epoch, key, counter, record)
}

// kernelEpoch is the epoch of counters that the kernel keeps: they go on when the GPU's driver is loaded again or the GPU is reset.
const kernelEpoch = 0

// recordTotalOf is recordTotal for a counter whose epoch may differ from the device's.
func recordTotalOf[N gpu.Number](p *devicePoints, epoch uint64, key seriesKey, counter gpu.Counter[N], record func(total N, options ...metadata.MetricAttributeOption)) {
	total, ok := counter.Get()
	if !ok {
		return
	}
	start := p.starts.get(p.series, key, float64(total), epoch, counter.Since())
	record(total, append(p.identity, metadata.WithPointStartTime(start))...)
}

// recordInfo records hw.gpu.info, whose attributes describe the device and name its node: a backend that drops resources has no other way
// to find the node of a GPU. In Prometheus each attribute is a label, and Mimir and Cortex refuse a series with more than 30 labels, so
// recordBoardInfo has the attributes that few queries need.
func recordInfo(p *devicePoints) {
	info, options := &p.device.Info, slices.Concat(p.identity, nodeIdentity(p.host))
	options = withText(options, info.DriverVersion, metadata.WithHwDriverVersionMetricAttribute)
	options = withText(options, info.FirmwareVersion, metadata.WithHwFirmwareVersionMetricAttribute)
	options = withText(options, info.ComputeCapability, metadata.WithHwGpuComputeCapabilityMetricAttribute)
	options = withText(options, info.CUDAVersion, metadata.WithHwGpuCudaVersionMetricAttribute)
	options = withText(options, info.Profile, metadata.WithHwGpuPartitionProfileMetricAttribute)
	options = withText(options, info.PCIAddress, metadata.WithHwGpuPciAddressMetricAttribute)
	options = withText(options, info.Serial, metadata.WithHwSerialNumberMetricAttribute)
	if index, ok := p.device.CurrentIndex.Get(); ok {
		options = append(options, metadata.WithHwGpuIndexMetricAttribute(int64(index)))
	}
	if numa, ok := info.NUMANode.Get(); ok {
		options = append(options, metadata.WithHwGpuNumaNodeMetricAttribute(numa))
	}
	p.builder.RecordHwGpuInfoDataPoint(p.ts, 1, p.device.ID, options...)
}

// recordBoardInfo records hw.gpu.board.info if anything of it is known.
func recordBoardInfo(p *devicePoints) {
	info, options := &p.device.Info, p.identity
	options = withText(options, info.FabricClique, metadata.WithHwGpuFabricCliqueMetricAttribute)
	options = withText(options, info.FabricCluster, metadata.WithHwGpuFabricClusterMetricAttribute)
	options = withText(options, info.InterconnectVersion, metadata.WithHwGpuInterconnectVersionMetricAttribute)
	options = withText(options, info.BoardPartNumber, metadata.WithHwGpuBoardPartNumberMetricAttribute)
	options = withText(options, info.Brand, metadata.WithHwGpuBrandMetricAttribute)
	options = withText(options, info.InfoROMVersion, metadata.WithHwGpuInforomVersionMetricAttribute)
	options = withText(options, info.MemoryPartition, metadata.WithHwGpuMemoryPartitionMetricAttribute)
	options = withText(options, info.C2CMode, metadata.WithHwGpuC2cModeMetricAttribute)
	options = withText(options, info.Architecture, metadata.WithHwGpuArchitectureMetricAttribute)
	options = withText(options, info.NVMLVersion, metadata.WithHwGpuNvmlVersionMetricAttribute)
	if len(options) > len(p.identity) {
		p.builder.RecordHwGpuBoardInfoDataPoint(p.ts, 1, p.device.ID, options...)
	}
}

// recordAllocated records whether the device is allocated to any container, if that is known.
func recordAllocated(p *devicePoints) {
	if p.device.HoldersKnown {
		p.builder.RecordHwGpuAllocatedDataPoint(p.ts, flag(len(p.device.Holders) > 0), p.device.ID, p.identity...)
	}
}
