// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// container is the use of one device by one container, or by what stands for one where there is no Kubernetes.
type container struct {
	readings
	user                         view.User
	resource, allocator, sharing *string
}

// containerKey returns what identifies the container of a point, empty where nothing does.
func containerKey(resource, point pcommon.Map) string {
	if id := text(resource, "container.id"); id != "" {
		return id
	}
	if id := text(point, "container.id"); id != "" {
		return id
	}
	if pod := text(point, "k8s.pod.name"); pod != "" {
		return text(point, "k8s.namespace.name") + "/" + pod + "/" + text(point, "k8s.container.name")
	}
	if job := text(point, "slurm.job.id"); job != "" {
		return "slurm/" + job
	}
	if unit := text(point, "systemd.unit.name"); unit != "" {
		return "systemd/" + unit
	}
	return ""
}

func (c *container) describe(resource, point pcommon.Map, shared *texts) {
	setUser(&c.user, resource, point, shared)
}

// describeAllocation sets how the device was allocated. These attributes are on container.gpu.allocated alone.
func (c *container) describeAllocation(point pcommon.Map, shared *texts) {
	shared.set(&c.resource, text(point, "k8s.resource.name"))
	shared.set(&c.allocator, text(point, "hw.gpu.allocator"))
	shared.set(&c.sharing, text(point, "hw.gpu.sharing"))
}
