// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// setUser sets who uses a device, from the attributes of the resource, else of the point.
func setUser(to *view.User, resource, point pcommon.Map, shared *texts) {
	get := func(name string) string {
		if v := text(resource, name); v != "" {
			return v
		}
		return text(point, name)
	}
	shared.set(&to.Namespace, get("k8s.namespace.name"))
	shared.set(&to.Pod, get("k8s.pod.name"))
	shared.set(&to.PodUID, get("k8s.pod.uid"))
	shared.set(&to.Container, get("k8s.container.name"))
	shared.set(&to.ContainerID, get("container.id"))
	shared.set(&to.ContainerName, get("container.name"))
	shared.set(&to.SlurmJob, get("slurm.job.id"))
	shared.set(&to.SlurmSLUID, get("slurm.job.sluid"))
	shared.set(&to.SlurmUser, get("slurm.job.user"))
	shared.set(&to.SlurmAccount, get("slurm.job.account"))
	shared.set(&to.SlurmPartition, get("slurm.job.partition"))
	shared.set(&to.BatchSystem, get("batch.system"))
	shared.set(&to.BatchJob, get("batch.job.id"))
	shared.set(&to.SystemdUnit, get("systemd.unit.name"))
	kind, name := get("k8s.workload.kind"), get("k8s.workload.name")
	for owner := gpu.OwnerKind(0); name == "" && owner < gpu.NumOwnerKinds; owner++ { // the k8s_attributes processor has these alone
		kind, name = owner.String(), get(owner.NameAttribute())
	}
	if name == "" {
		kind = ""
	}
	shared.set(&to.WorkloadKind, kind)
	shared.set(&to.Workload, name)
}
