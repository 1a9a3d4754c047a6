// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"slices"

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

// recordProcesses emits one resource for each process, with points for each device that it uses.
func (r *Recorder) recordProcesses(ts pcommon.Timestamp, node *gpu.Node) {
	if len(r.processes) == 0 {
		return
	}
	// Sources sort processes by device.
	processes := make([]*gpu.Process, len(node.Processes))
	for i := range node.Processes {
		processes[i] = &node.Processes[i]
	}
	slices.SortStableFunc(processes, func(a, b *gpu.Process) int { return cmp.Compare(a.PID, b.PID) })
	first := 0 // of the current PID
	for i, p := range processes {
		points := &processPoints{builder: r.builder, ts: ts, process: p}
		if p.Type != gpu.ProcessUnknown {
			points.options = processTypes[p.Type : p.Type+1]
		}
		for _, m := range r.processes {
			m.record(points)
		}
		if i+1 == len(processes) || processes[i+1].PID != p.PID {
			r.emit(processResource(r.resources, &node.Host, processes[first]))
			first = i + 1
		}
	}
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
