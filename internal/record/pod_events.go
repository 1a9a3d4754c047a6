// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// pod sets what happened to a pod.
func (a attributes) pod(c *gpu.PodChange) {
	a.text("k8s.namespace.name", c.Namespace)
	a.text("k8s.pod.name", c.Name)
	a.text("k8s.pod.uid", c.UID)
	a.text("k8s.node.name", c.Node)
	a.owners(c.Owners)
	a.labels(c.Labels)
	a.requests(c.Requests)
	a.text("k8s.pod.status.phase", c.Phase)
	a.text("k8s.pod.status.previous_phase", c.PreviousPhase)
	a.text("k8s.pod.status.reason", c.Reason)
	if c.Condition != nil {
		a.text("k8s.pod.condition.type", c.Condition.Type)
		a.text("k8s.pod.condition.status", c.Condition.Status)
		a.text("k8s.pod.condition.reason", c.Condition.Reason)
	}
	if c.Container != nil {
		a.containerChange(c.Container)
	}
	a.time("k8s.pod.last_seen", c.LastSeen)
}

func (a attributes) containerChange(c *gpu.ContainerChange) {
	a.text("k8s.container.name", c.Name)
	a.text("container.id", c.ID)
	a.PutInt("k8s.container.restart_count", c.Restarts)
	a.text("k8s.container.status.last_terminated_reason", c.Reason)
	a.int("k8s.container.exit_code", c.ExitCode)
}

// owners sets the owners, and the topmost one as the workload.
func (a attributes) owners(owners []gpu.Owner) {
	if len(owners) == 0 {
		return
	}
	list := a.PutEmptySlice("k8s.workload.owners")
	for _, owner := range owners {
		list.AppendEmpty().SetStr(owner.Kind + "/" + owner.Name)
	}
	top := a.topOwner(owners)
	a.text("k8s.workload.uid", top.UID)
	a.text("k8s.workload.api_version", top.APIVersion)
}

func (a attributes) requests(requests []gpu.ResourceCount) {
	if len(requests) == 0 {
		return
	}
	list := a.PutEmptySlice("k8s.resource.requests")
	for _, r := range requests {
		text := r.Resource
		if count, ok := r.Count.Get(); ok {
			text += "=" + strconv.FormatInt(count, 10)
		}
		list.AppendEmpty().SetStr(text)
	}
}

// workloadChange sets what happened to a workload.
func (a attributes) workloadChange(c *gpu.WorkloadChange) {
	a.text("k8s.namespace.name", c.Namespace)
	a.owners(c.Owners)
	a.labels(c.Labels)
	a.requests(c.Requests)
	a.PutInt("k8s.workload.pod_count", int64(len(c.Pods)))
	if len(c.Pods) > 0 {
		list := a.PutEmptySlice("k8s.workload.pods")
		for _, name := range c.Pods[:min(len(c.Pods), maxContainers)] {
			list.AppendEmpty().SetStr(name)
		}
	}
	a.int("k8s.workload.previous_pod_count", c.Previous)
	a.seconds("k8s.workload.duration", c.Lasted)
	a.time("k8s.pod.last_seen", c.LastSeen)
}
