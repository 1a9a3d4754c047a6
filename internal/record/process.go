// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// processMetrics is the table of the metrics of processes.
func processMetrics(m *metadata.MetricsConfig) []metric[*processPoints] {
	return []metric[*processPoints]{
		{m.ProcessGpuMemoryUsage.Enabled, gpu.GroupProcesses, recordProcessMemory},
		{m.ProcessGpuUtilization.Enabled, gpu.GroupProcesses | gpu.GroupProcessUtilization, recordProcessUtilization},
	}
}

// processPoints records the points of one process on one device.
type processPoints struct {
	builder *builder
	ts      pcommon.Timestamp
	process *gpu.Process
	options []metadata.MetricAttributeOption
}

func recordProcessMemory(p *processPoints) {
	if v, ok := p.process.Memory.Get(); ok {
		p.builder.RecordProcessGpuMemoryUsageDataPoint(p.ts, v, p.process.DeviceID, p.process.PID, p.options...)
	}
}

func recordProcessUtilization(p *processPoints) {
	for task, name := range tasks {
		if v, ok := p.process.Utilization[task].Get(); ok {
			p.builder.RecordProcessGpuUtilizationDataPoint(p.ts, v, name, p.process.DeviceID, p.process.PID, p.options...)
		}
	}
}
