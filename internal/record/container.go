// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// allocation records whether anyone holds the device, where that could be read.
func (p *point) allocation() {
	if p.device.HoldersKnown {
		p.mb.RecordHwGpuAllocatedDataPoint(p.ts, flag(len(p.device.Holders) > 0), p.device.ID, p.id.gauge()...)
	}
}

// recordContainers emits one resource for each container, with the points of each device that it holds or uses.
func (r *Recorder) recordContainers(ts pcommon.Timestamp, node *gpu.Node) {
	done := r.done[:0]
	for i := range node.Containers {
		c := node.Containers[i].Container
		if slices.Contains(done, c) {
			continue
		}
		done = append(done, c)
		opts := containerOptions(c, named(node.Containers, c))
		for j := i; j < len(node.Containers); j++ {
			if use := &node.Containers[j]; use.Container == c {
				r.recordUse(ts, use, opts)
			}
		}
		r.resources.Reserve(ofContainer + len(c.Labels))
		r.setHost(&node.Host)
		setContainer(r.resources, c)
		r.users.EmitForResource(metadata.TakeResource(withLabels(r.resources.Emit(), c)))
	}
	clear(done) // keep no container alive until the next node
	r.done = done[:0]
}

func (r *Recorder) recordUse(ts pcommon.Timestamp, use *gpu.ContainerUse, opts []metadata.MetricAttributeOption) {
	if held, ok := use.Allocated.Get(); ok {
		how := opts
		if held {
			how = append(how, allocators[use.DRA], sharings[use.Sharing])
			how = withText(how, use.Resource, metadata.WithK8sResourceNameMetricAttribute)
		}
		r.users.RecordContainerGpuAllocatedDataPoint(ts, flag(held), use.DeviceID, how...)
	}
	for task, name := range tasks {
		if v, ok := use.Utilization[task].Get(); ok {
			r.users.RecordContainerGpuUtilizationDataPoint(ts, v, name, use.DeviceID, opts...)
		}
	}
	if v, ok := use.MemoryUsage.Get(); ok {
		r.users.RecordContainerGpuMemoryUsageDataPoint(ts, v, use.DeviceID, opts...)
	}
	if v, ok := use.MemoryLimit.Get(); ok {
		r.users.RecordContainerGpuMemoryLimitDataPoint(ts, v, use.DeviceID, opts...)
	}
	if v, ok := use.Power.Get(); ok {
		r.users.RecordContainerGpuPowerDataPoint(ts, v, use.DeviceID, opts...)
	}
	if v, ok := use.Energy.Get(); ok {
		r.users.RecordContainerGpuEnergyDataPoint(ts, v, use.DeviceID, append(opts, startOf(use.Energy, ts))...)
	}
	if v, ok := use.IdleTime.Get(); ok {
		r.users.RecordContainerGpuIdleTimeDataPoint(ts, v, use.DeviceID, append(opts, startOf(use.IdleTime, ts))...)
	}
}

// startOf is the start of a counter that we keep ourselves. Where the clock was set back, no point may end before it starts.
func startOf(c gpu.Counter[float64], ts pcommon.Timestamp) *metadata.StartTime {
	return &metadata.StartTime{Timestamp: min(pcommon.NewTimestampFromTime(c.Since()), ts)}
}

// named tells whether a container's names are known, and no other's: one whose processes are stuck in the driver stays beside
// the one that was made anew.
func named(all []gpu.ContainerUse, c *gpu.Container) bool {
	return c.Name != "" && c.PodName != "" && !slices.ContainsFunc(all, func(u gpu.ContainerUse) bool {
		o := u.Container
		return o != c && o.PodName == c.PodName && o.Name == c.Name && o.Namespace == c.Namespace
	})
}

// containerOptions tell a container apart on its points: by its names, by its id where they do not, or by what stands in for a
// container where there is no Kubernetes.
func containerOptions(c *gpu.Container, named bool) []metadata.MetricAttributeOption {
	var opts []metadata.MetricAttributeOption
	if !named {
		opts = withText(opts, c.ID, metadata.WithContainerIDMetricAttribute)
	}
	opts = withText(opts, c.Name, metadata.WithK8sContainerNameMetricAttribute)
	opts = withText(opts, c.Namespace, metadata.WithK8sNamespaceNameMetricAttribute)
	opts = withText(opts, c.PodName, metadata.WithK8sPodNameMetricAttribute)
	if len(opts) == 0 {
		opts = withText(opts, c.SlurmJob, metadata.WithSlurmJobIDMetricAttribute)
		opts = withText(opts, c.SystemdUnit, metadata.WithSystemdUnitMetricAttribute)
	}
	return slices.Clip(opts)
}

// ofContainer is about how many attributes setContainer adds.
const ofContainer = 12

// setContainer puts what is known of a container on the resource being built.
func setContainer(rb *metadata.ResourceBuilder, c *gpu.Container) {
	setText(c.ID, rb.SetContainerID)
	setText(c.Namespace, rb.SetK8sNamespaceName)
	setText(c.PodName, rb.SetK8sPodName)
	setText(c.PodUID, rb.SetK8sPodUID)
	setText(c.Name, rb.SetK8sContainerName)
	setText(c.SystemdUnit, rb.SetSystemdUnit)
	setText(c.SlurmJob, rb.SetSlurmJobID)
	for _, owner := range c.Owners {
		setOwner(rb, owner)
	}
	if len(c.Owners) > 0 {
		top := c.Owners[len(c.Owners)-1]
		setText(top.Kind, rb.SetK8sWorkloadKind)
		setText(top.Name, rb.SetK8sWorkloadName)
	}
}

// setOwner sets the conventions' own attributes of an owner; an owner of another kind has none.
func setOwner(rb *metadata.ResourceBuilder, owner gpu.Owner) {
	name, uid := func(string) {}, func(string) {}
	switch owner.Kind {
	case "ReplicaSet":
		name, uid = rb.SetK8sReplicasetName, rb.SetK8sReplicasetUID
	case "Deployment":
		name, uid = rb.SetK8sDeploymentName, rb.SetK8sDeploymentUID
	case "StatefulSet":
		name, uid = rb.SetK8sStatefulsetName, rb.SetK8sStatefulsetUID
	case "DaemonSet":
		name, uid = rb.SetK8sDaemonsetName, rb.SetK8sDaemonsetUID
	case "Job":
		name, uid = rb.SetK8sJobName, rb.SetK8sJobUID
	case "CronJob":
		name, uid = rb.SetK8sCronjobName, rb.SetK8sCronjobUID
	}
	setText(owner.Name, name)
	setText(owner.UID, uid)
}

// withLabels adds the pod labels and annotations that were asked for.
func withLabels(res pcommon.Resource, c *gpu.Container) pcommon.Resource {
	if c != nil {
		for name, value := range c.Labels {
			res.Attributes().PutStr(name, value)
		}
	}
	return res
}
