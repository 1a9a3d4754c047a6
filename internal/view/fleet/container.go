// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// container is the use of one device by one container, or by its counterpart outside of Kubernetes.
type container struct {
	readings
	user                         view.User
	resource, allocator, sharing *string
}

// containerKey returns what identifies the container, job or unit of a point, empty if nothing does. The jobs of one container are
// distinct.
func containerKey(resource, point pcommon.Map) string {
	key := ""
	if pod := text(point, "k8s.pod.name"); pod != "" {
		key = text(point, "k8s.namespace.name") + "/" + pod + "/" + text(point, "k8s.container.name")
	}
	key = cmp.Or(text(resource, "container.id"), text(point, "container.id"), key, text(point, "container.name"))
	parts := []string{key}
	for _, name := range [...]string{"slurm.job.id", "slurm.job.sluid", "batch.job.id", "systemd.unit.name"} {
		if value := text(point, name); value != "" {
			parts = append(parts, name, value)
		}
	}
	return strings.Join(parts, "\x00")
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
