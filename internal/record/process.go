// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// processMetrics is the table of the metrics of processes.
func processMetrics(m *metadata.MetricsConfig) []metric[*processPoints] {
	return []metric[*processPoints]{
		{m.ProcessGpuEvictedTime.Enabled, gpu.GroupProcesses | gpu.GroupProcessTimes, processTime(func(p *gpu.Process) gpu.Counter[float64] { return p.EvictedTime }, (*builder).RecordProcessGpuEvictedTimeDataPoint)},
		{m.ProcessGpuInfo.Enabled, gpu.GroupProcesses, recordProcessInfo},
		{m.ProcessGpuMediaUtilization.Enabled, gpu.GroupProcesses | gpu.GroupProcessUtilization, recordProcessMedia},
		{m.ProcessGpuMemoryControllerUtilization.Enabled, gpu.GroupProcesses | gpu.GroupProcessUtilization, recordProcessMemoryController},
		{m.ProcessGpuMemorySystemUsage.Enabled, gpu.GroupProcesses, recordProcessSystemMemory},
		{m.ProcessGpuMemoryUsage.Enabled, gpu.GroupProcesses, recordProcessMemory},
		{m.ProcessGpuSdmaTime.Enabled, gpu.GroupProcesses | gpu.GroupProcessTimes, processTime(func(p *gpu.Process) gpu.Counter[float64] { return p.SDMATime }, (*builder).RecordProcessGpuSdmaTimeDataPoint)},
		{m.ProcessGpuUtilization.Enabled, gpu.GroupProcesses | gpu.GroupProcessUtilization, recordProcessUtilization},
	}
}

// DisableProcesses disables the metrics of processes: a line for each line of the table.
func DisableProcesses(m *metadata.MetricsConfig) {
	m.ProcessGpuEvictedTime.Enabled = false
	m.ProcessGpuInfo.Enabled = false
	m.ProcessGpuMediaUtilization.Enabled = false
	m.ProcessGpuMemoryControllerUtilization.Enabled = false
	m.ProcessGpuMemorySystemUsage.Enabled = false
	m.ProcessGpuMemoryUsage.Enabled = false
	m.ProcessGpuSdmaTime.Enabled = false
	m.ProcessGpuUtilization.Enabled = false
}

// processPoints records the points of one process on one device.
type processPoints struct {
	builder *builder
	ts      pcommon.Timestamp
	process *gpu.Process
	options []metadata.MetricAttributeOption
}

// recordProcessInfo records that the process uses the device. It needs no value: some drivers list processes and report nothing else
// about them.
func recordProcessInfo(p *processPoints) {
	p.builder.RecordProcessGpuInfoDataPoint(p.ts, 1, p.process.DeviceID, p.process.PID, p.options...)
}

func recordProcessMemoryController(p *processPoints) {
	if v, ok := p.process.MemoryController.Get(); ok {
		p.builder.RecordProcessGpuMemoryControllerUtilizationDataPoint(p.ts, v, p.process.DeviceID, p.process.PID, p.options...)
	}
}

func recordProcessMemory(p *processPoints) {
	if v, ok := p.process.Memory.Get(); ok {
		p.builder.RecordProcessGpuMemoryUsageDataPoint(p.ts, v, p.process.DeviceID, p.process.PID, p.options...)
	}
}

func recordProcessSystemMemory(p *processPoints) {
	if v, ok := p.process.SystemMemory.Get(); ok {
		p.builder.RecordProcessGpuMemorySystemUsageDataPoint(p.ts, v, p.process.DeviceID, p.process.PID, p.options...)
	}
}

// processTime records a time that counts from the start of the process. If that start is unknown, the start of the series is unknown, and
// another process with the same PID would continue it: then there is no point.
func processTime(
	get func(*gpu.Process) gpu.Counter[float64],
	record func(mb *builder, ts pcommon.Timestamp, value float64, hwID string, pid int64, options ...metadata.MetricAttributeOption),
) func(*processPoints) {
	return func(p *processPoints) {
		total, ok := get(p.process).Get()
		if !ok || p.process.Created.IsZero() {
			return
		}
		// After the clock was set back, no point may end before it starts.
		start := min(pcommon.NewTimestampFromTime(p.process.Created), p.ts)
		record(p.builder, p.ts, total, p.process.DeviceID, p.process.PID, append(slices.Clip(p.options), metadata.WithPointStartTime(start))...)
	}
}

func recordProcessUtilization(p *processPoints) {
	if v, ok := p.process.Utilization[gpu.TaskGeneral].Get(); ok {
		p.builder.RecordProcessGpuUtilizationDataPoint(p.ts, v, tasks[gpu.TaskGeneral], p.process.DeviceID, p.process.PID, p.options...)
	}
}

// recordProcessMedia records what a process uses of the encoder and the decoder: 0 for nearly all of them, so it is a metric of its own.
func recordProcessMedia(p *processPoints) {
	for task, name := range tasks {
		if v, ok := p.process.Utilization[task].Get(); ok && gpu.Task(task) != gpu.TaskGeneral {
			p.builder.RecordProcessGpuMediaUtilizationDataPoint(p.ts, v, name, p.process.DeviceID, p.process.PID, p.options...)
		}
	}
}
