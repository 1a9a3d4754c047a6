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

// recordProcesses emits one resource for each process, with one point for each device that it uses.
func (r *Recorder) recordProcesses(ts pcommon.Timestamp, node *gpu.Node) {
	if !r.config.ProcessGpuMemoryUsage.Enabled && !r.config.ProcessGpuUtilization.Enabled {
		return
	}
	r.order = r.order[:0]
	for i := range node.Processes {
		r.order = append(r.order, i)
	}
	// A source lists processes by device; here they are wanted by PID.
	slices.SortStableFunc(r.order, func(a, b int) int { return cmp.Compare(node.Processes[a].PID, node.Processes[b].PID) })
	for start := 0; start < len(r.order); {
		first := &node.Processes[r.order[start]]
		end := start
		for end < len(r.order) && node.Processes[r.order[end]].PID == first.PID {
			r.recordProcess(ts, &node.Processes[r.order[end]])
			end++
		}
		r.users.EmitProcess(r.processResource(&node.Host, first))
		start = end
	}
}

func (r *Recorder) recordProcess(ts pcommon.Timestamp, p *gpu.Process) {
	var opts []metadata.MetricAttributeOption
	if p.Type != gpu.ProcessUnknown {
		opts = processTypes[p.Type : p.Type+1]
	}
	if v, ok := p.Memory.Get(); ok {
		r.users.RecordProcessGpuMemoryUsageDataPoint(ts, v, p.DeviceID, p.PID, opts...)
	}
	for task, name := range tasks {
		if v, ok := p.Utilization[task].Get(); ok {
			r.users.RecordProcessGpuUtilizationDataPoint(ts, v, name, p.DeviceID, p.PID, opts...)
		}
	}
}

func (r *Recorder) processResource(host *gpu.Host, p *gpu.Process) pcommon.Resource {
	rb := r.resources
	rb.Reserve(attributesOf(host, p))
	r.setHost(host)
	rb.SetProcessPid(p.PID)
	if !p.Created.IsZero() {
		rb.SetProcessCreationTime(iso8601(p.Created))
	}
	setText(p.Executable, rb.SetProcessExecutableName)
	setText(p.Command, rb.SetProcessCommand)
	setText(p.CommandLine, rb.SetProcessCommandLine)
	setText(p.Owner, rb.SetProcessOwner)
	if p.Container != nil {
		setContainer(rb, p.Container)
	}
	return withLabels(rb.Emit(), p.Container)
}

// attributesOf is how many attributes a process's resource will have; of its container's, the most that there may be. There are
// many processes, and room for more would be a good part of all memory that recording takes.
func attributesOf(host *gpu.Host, p *gpu.Process) int {
	count := 1 // process.pid
	for _, text := range []string{host.Name, host.NodeName, host.ClusterName, p.Executable, p.Command, p.CommandLine, p.Owner} {
		if text != "" {
			count++
		}
	}
	if !p.Created.IsZero() {
		count++
	}
	if p.Container != nil {
		count += ofContainer + len(p.Container.Labels)
	}
	return count
}
