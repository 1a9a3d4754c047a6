// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// useMetrics are the metrics of the use of GPUs by processes and containers.
var useMetrics = []metric{
	{name: metadata.MetricsInfo.ProcessGpuInfo.Name, subject: ofProcess, values: ratio},
	ofProcesses(metadata.MetricsInfo.ProcessGpuMemoryUsage.Name, size, func(p *view.Process) **float64 { return &p.Memory }),
	ofProcesses(metadata.MetricsInfo.ProcessGpuMemoryControllerUtilization.Name, ratio, func(p *view.Process) **float64 { return &p.MemoryControllerUtilization }),
	{
		name: metadata.MetricsInfo.ProcessGpuUtilization.Name, subject: ofProcess, values: ratio, labels: []string{attrTask},
		onProcess: func(p *view.Process, key *fieldKey, value float64) {
			if key.label(attrTask) == "general" {
				p.Utilization = floatOf(value)
			}
		},
	},
	{
		name: metadata.MetricsInfo.ProcessGpuMediaUtilization.Name, subject: ofProcess, values: ratio, labels: []string{attrTask},
		onProcess: func(p *view.Process, key *fieldKey, value float64) {
			switch key.label(attrTask) {
			case "encoder":
				p.EncoderUtilization = floatOf(value)
			case "decoder":
				p.DecoderUtilization = floatOf(value)
			}
		},
	},

	ofContainers(metadata.MetricsInfo.ContainerGpuMemoryUsage.Name, size, func(c *view.Container) **float64 { return &c.Memory }),
	ofContainers(metadata.MetricsInfo.ContainerGpuMemoryLimit.Name, size, func(c *view.Container) **float64 { return &c.MemoryLimit }),
	ofContainers(metadata.MetricsInfo.ContainerGpuPower.Name, watts, func(c *view.Container) **float64 { return &c.Power }),
	ofContainers(metadata.MetricsInfo.ContainerGpuEnergy.Name, counter, func(c *view.Container) **float64 { return &c.Energy }),
	ofContainers(metadata.MetricsInfo.ContainerGpuIdleTime.Name, counter, func(c *view.Container) **float64 { return &c.IdleTime }),
	ofContainers(metadata.MetricsInfo.ContainerGpuShare.Name, ratio, func(c *view.Container) **float64 { return &c.Share }),
	{
		name: metadata.MetricsInfo.ContainerGpuAllocated.Name, subject: ofContainer, values: count,
		onContainer: func(c *view.Container, _ *fieldKey, value float64) {
			allocated := value > 0
			c.Allocated = &allocated
		},
	},
	{
		name: metadata.MetricsInfo.ContainerGpuUtilization.Name, subject: ofContainer, values: ratio, labels: []string{attrTask},
		onContainer: func(c *view.Container, key *fieldKey, value float64) {
			if key.label(attrTask) == "general" {
				c.Utilization = floatOf(value)
			}
		},
	},
}

func ofProcesses(name string, values bounds, target func(*view.Process) **float64) metric {
	return metric{
		name: name, subject: ofProcess, values: values,
		onProcess: func(p *view.Process, _ *fieldKey, value float64) { *target(p) = floatOf(value) },
	}
}

func ofContainers(name string, values bounds, target func(*view.Container) **float64) metric {
	return metric{
		name: name, subject: ofContainer, values: values,
		onContainer: func(c *view.Container, _ *fieldKey, value float64) { *target(c) = floatOf(value) },
	}
}
