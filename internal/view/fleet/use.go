// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// container is the use of one device by one container, or by its counterpart outside of Kubernetes.
type container struct {
	readings
	described                    pcommon.Timestamp // of the point whose attributes describe it
	user                         view.User
	resource, allocator, sharing *string

	shown  *view.Container // as of the last message, nil if it has ended
	held   bool            // when its use was last counted
	energy *float64        // when its use was last counted

	idle      bool          // as of the last message
	idleSince time.Duration // since the start of the fleet
}

// containerKey returns what identifies the container, job or unit of a point, empty if nothing does. The jobs of one container are
// distinct.
func containerKey(resource, point pcommon.Map) string {
	key := ""
	if pod := text(point, "k8s.pod.name"); pod != "" {
		key = text(point, "k8s.namespace.name") + "/" + pod + "/" + text(point, "k8s.container.name")
	}
	key = cmp.Or(text(resource, "container.id"), text(point, "container.id"), key, text(point, "container.name"))
	parts := append(make([]string, 0, 9), key)
	for _, name := range [...]string{"slurm.job.id", "slurm.job.sluid", "batch.job.id", "systemd.unit.name"} {
		if value := text(point, name); value != "" {
			parts = append(parts, name, value)
		}
	}
	return strings.Join(parts, "|") // no control byte: texts.share would remove it
}

// describe sets whose container it is. The points of one read have the same attributes.
func (c *container) describe(p *point, shared *texts) {
	if c.described == p.timestamp {
		return
	}
	c.described = p.timestamp
	setUser(&c.user, p.resource.attributes, p.attributes, shared)
}

// describeAllocation sets how the device was allocated. These attributes are on container.gpu.allocated alone.
func (c *container) describeAllocation(point pcommon.Map, shared *texts) {
	shared.set(&c.resource, text(point, "k8s.resource.name"))
	shared.set(&c.allocator, text(point, "hw.gpu.allocator"))
	shared.set(&c.sharing, text(point, "hw.gpu.sharing"))
}

// process is the use of one device by one process.
type process struct {
	readings
	described pcommon.Timestamp // of the point whose attributes describe it
	view      *view.Process
	published bool // readers have the view: it must not change
}

// draft returns the view of the process, without values, for changes.
func (p *process) draft() *view.Process {
	switch {
	case p.view == nil:
		p.view = &view.Process{}
	case p.published:
		v := *p.view
		v.Memory, v.Utilization, v.MemoryControllerUtilization, v.EncoderUtilization, v.DecoderUtilization = nil, nil, nil, nil, nil
		p.view, p.published = &v, false
	}
	return p.view
}

// describe sets what process it is. The points of one read have the same attributes.
func (p *process) describe(point *point, shared *texts) {
	if p.described == point.timestamp {
		return
	}
	p.described = point.timestamp
	resource, v := point.resource.attributes, p.draft()
	setUser(&v.User, resource, point.attributes, shared)
	shared.set(&v.Type, text(point.attributes, "process.gpu.type"))
	shared.set(&v.Name, text(resource, "process.executable.name"))
	shared.set(&v.Command, text(resource, "process.command"))
	shared.set(&v.CommandLine, text(resource, "process.command_line"))
	shared.set(&v.Owner, text(resource, "process.owner"))
	shared.set(&v.UserID, text(resource, "process.user.id"))
	created, err := time.Parse(time.RFC3339Nano, text(resource, "process.creation.time"))
	switch {
	case err != nil || created.UTC().Year() < 1 || created.UTC().Year() > 9999:
		v.Started = nil
	case v.Started == nil || !v.Started.Equal(created):
		v.Started = new(created.UTC())
	}
}

// setUser sets who uses a device, from the attributes of the resource, else of the point.
func setUser(user *view.User, resource, point pcommon.Map, shared *texts) {
	get := func(name string) string {
		if v := text(resource, name); v != "" {
			return v
		}
		return text(point, name)
	}
	shared.set(&user.Namespace, get("k8s.namespace.name"))
	shared.set(&user.Pod, get("k8s.pod.name"))
	shared.set(&user.PodUID, get("k8s.pod.uid"))
	shared.set(&user.Container, get("k8s.container.name"))
	shared.set(&user.ContainerID, get("container.id"))
	shared.set(&user.ContainerName, get("container.name"))
	shared.set(&user.SlurmJob, get("slurm.job.id"))
	shared.set(&user.SlurmSLUID, get("slurm.job.sluid"))
	shared.set(&user.SlurmUser, get("slurm.job.user"))
	shared.set(&user.SlurmAccount, get("slurm.job.account"))
	shared.set(&user.SlurmPartition, get("slurm.job.partition"))
	shared.set(&user.BatchSystem, get("batch.system"))
	shared.set(&user.BatchJob, get("batch.job.id"))
	shared.set(&user.SystemdUnit, get("systemd.unit.name"))
	kind, name := get("k8s.workload.kind"), get("k8s.workload.name")
	for owner := gpu.OwnerKind(0); name == "" && owner < gpu.NumOwnerKinds; owner++ { // the k8s_attributes processor has these alone
		kind, name = owner.String(), get(owner.NameAttribute())
	}
	if name == "" {
		kind = ""
	}
	user.Labels = labelsOf(podLabel, resource, user.Labels, shared)
	shared.set(&user.WorkloadKind, kind)
	shared.set(&user.Workload, name)
}
