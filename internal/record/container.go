// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// containerMetrics is the table of the metrics of containers. Attribution computes them from the groups.
func containerMetrics(m *metadata.MetricsConfig) []metric[*containerPoints] {
	const shares = gpu.GroupProcesses | gpu.GroupProcessUtilization | gpu.GroupUtilization
	type use = gpu.ContainerUse
	return []metric[*containerPoints]{
		// 0 for a container that uses a device which it does not hold.
		{m.ContainerGpuAllocated.Enabled, gpu.GroupProcesses, recordContainerAllocated},
		{m.ContainerGpuEnergy.Enabled, shares | gpu.GroupEnergy, containerTotal(func(u *use) gpu.Counter[float64] { return u.Energy }, (*builder).RecordContainerGpuEnergyDataPoint)},
		{m.ContainerGpuIdleTime.Enabled, shares, containerTotal(func(u *use) gpu.Counter[float64] { return u.IdleTime }, (*builder).RecordContainerGpuIdleTimeDataPoint)},
		{m.ContainerGpuMediaUtilization.Enabled, shares | gpu.GroupMediaUtilization, recordContainerMedia},
		{m.ContainerGpuMemoryLimit.Enabled, gpu.GroupProcesses | gpu.GroupMemory, containerValue(func(u *use) gpu.Opt[int64] { return u.MemoryLimit }, (*builder).RecordContainerGpuMemoryLimitDataPoint)},
		{m.ContainerGpuMemoryUsage.Enabled, gpu.GroupProcesses | gpu.GroupMemory, containerValue(func(u *use) gpu.Opt[int64] { return u.MemoryUsage }, (*builder).RecordContainerGpuMemoryUsageDataPoint)},
		{m.ContainerGpuPower.Enabled, shares | gpu.GroupPower, containerValue(func(u *use) gpu.Opt[float64] { return u.Power }, (*builder).RecordContainerGpuPowerDataPoint)},
		{m.ContainerGpuShare.Enabled, gpu.GroupProcesses | gpu.GroupMemory, containerValue(func(u *use) gpu.Opt[float64] { return u.Share }, (*builder).RecordContainerGpuShareDataPoint)},
		{m.ContainerGpuUtilization.Enabled, shares, recordContainerUtilization},
	}
}

// containerPoints records the points of one container, job or unit on one device.
type containerPoints struct {
	builder  *builder
	ts       pcommon.Timestamp
	use      *gpu.ContainerUse
	identity []metadata.MetricAttributeOption // what identifies the container on its points
}

// containerName distinguishes containers as Kubernetes does. A container whose processes are stuck in the driver can exist at the same time
// as the new container with the same names.
type containerName struct {
	namespace, pod, container string
	job                       gpu.Job
}

func nameOf(c *gpu.Container) containerName {
	return containerName{c.Namespace, c.PodName, c.Name, c.Job()}
}

// containerIdentity returns the attributes that identify a container on its points: its names if they are known and no other
// container has them, otherwise its ID, or the name that the runtime has for it; and its job or systemd unit.
func containerIdentity(c *gpu.Container, unique bool) []metadata.MetricAttributeOption {
	var options []metadata.MetricAttributeOption
	if !unique || c.Name == "" || c.PodName == "" {
		options = withText(options, c.ID, metadata.WithContainerIDMetricAttribute)
	}
	options = withText(options, c.Name, metadata.WithK8sContainerNameMetricAttribute)
	options = withText(options, c.Namespace, metadata.WithK8sNamespaceNameMetricAttribute)
	options = withText(options, c.PodName, metadata.WithK8sPodNameMetricAttribute)
	if len(options) == 0 {
		options = withText(options, c.RuntimeName, metadata.WithContainerNameMetricAttribute)
	}
	options = withText(options, c.SlurmJob, metadata.WithSlurmJobIDMetricAttribute)
	options = withText(options, c.SlurmSLUID, metadata.WithSlurmJobSluidMetricAttribute)
	options = withText(options, c.BatchSystem, metadata.WithBatchSystemMetricAttribute)
	options = withText(options, c.BatchJob, metadata.WithBatchJobIDMetricAttribute)
	options = withText(options, c.SystemdUnit, metadata.WithSystemdUnitNameMetricAttribute)
	return slices.Clip(options) // appending copies it
}

// containerValue records a quantity with one value for each container and device.
func containerValue[N gpu.Number](get func(*gpu.ContainerUse) gpu.Opt[N], record recordFunc[N]) func(*containerPoints) {
	return func(p *containerPoints) {
		if v, ok := get(p.use).Get(); ok {
			record(p.builder, p.ts, v, p.use.DeviceID, p.identity...)
		}
	}
}

// containerTotal records a counter that attribution keeps, which knows when it started.
func containerTotal[N gpu.Number](get func(*gpu.ContainerUse) gpu.Counter[N], record recordFunc[N]) func(*containerPoints) {
	return func(p *containerPoints) {
		counter := get(p.use)
		if v, ok := counter.Get(); ok {
			// After the clock was set back, no point may end before it starts.
			start := min(pcommon.NewTimestampFromTime(counter.Since()), p.ts)
			record(p.builder, p.ts, v, p.use.DeviceID, append(p.identity, metadata.WithPointStartTime(start))...)
		}
	}
}

func recordContainerAllocated(p *containerPoints) {
	allocated, ok := p.use.Allocated.Get()
	if !ok {
		return
	}
	options := p.identity
	if allocated {
		options = append(options, allocators[p.use.Allocator], sharings[p.use.Sharing])
		options = withText(options, p.use.Resource, metadata.WithK8sResourceNameMetricAttribute)
	}
	p.builder.RecordContainerGpuAllocatedDataPoint(p.ts, flag(allocated), p.use.DeviceID, options...)
}

func recordContainerUtilization(p *containerPoints) {
	if v, ok := p.use.Utilization[gpu.TaskGeneral].Get(); ok {
		p.builder.RecordContainerGpuUtilizationDataPoint(p.ts, v, tasks[gpu.TaskGeneral], p.use.DeviceID, p.identity...)
	}
}

// recordContainerMedia records what a container uses of the encoder, the decoder and the other media engines: 0 for nearly all of them, so it
// is a metric of its own.
func recordContainerMedia(p *containerPoints) {
	for task, name := range tasks {
		if v, ok := p.use.Utilization[task].Get(); ok && gpu.Task(task) != gpu.TaskGeneral {
			p.builder.RecordContainerGpuMediaUtilizationDataPoint(p.ts, v, name, p.use.DeviceID, p.identity...)
		}
	}
}
