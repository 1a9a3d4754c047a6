// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// hostResource returns the resource of node-level and device-level points and of events.
func hostResource(rb *metadata.ResourceBuilder, host *gpu.Host) pcommon.Resource {
	setHost(rb, host)
	return withLabels(rb.Emit(), host.Labels)
}

func setHost(rb *metadata.ResourceBuilder, host *gpu.Host) {
	setText(host.Name, rb.SetHostName)
	setText(host.NodeName, rb.SetK8sNodeName)
	setText(host.ClusterName, rb.SetK8sClusterName)
}

// containerResource returns the resource of a container, job or unit on the host.
func containerResource(rb *metadata.ResourceBuilder, host *gpu.Host, c *gpu.Container) pcommon.Resource {
	setHost(rb, host)
	setContainer(rb, c)
	return withLabels(rb.Emit(), c.Labels)
}

func setContainer(rb *metadata.ResourceBuilder, c *gpu.Container) {
	setText(c.ID, rb.SetContainerID)
	setText(c.Namespace, rb.SetK8sNamespaceName)
	setText(c.PodName, rb.SetK8sPodName)
	setText(c.PodUID, rb.SetK8sPodUID)
	setText(c.Name, rb.SetK8sContainerName)
	setText(c.RuntimeName, rb.SetContainerName)
	setText(c.Runtime, rb.SetContainerRuntimeName)
	setText(c.ImageName, rb.SetContainerImageName)
	if len(c.ImageTags) > 0 {
		tags := make([]any, len(c.ImageTags))
		for i, tag := range c.ImageTags {
			tags[i] = tag
		}
		rb.SetContainerImageTags(tags)
	}
	setText(c.SlurmJob, rb.SetSlurmJobID)
	setText(c.SlurmSLUID, rb.SetSlurmJobSluid)
	setText(c.SlurmUser, rb.SetSlurmJobUser)
	setText(c.SlurmAccount, rb.SetSlurmJobAccount)
	setText(c.SlurmPartition, rb.SetSlurmJobPartition)
	setText(c.BatchSystem, rb.SetBatchSystem)
	setText(c.BatchJob, rb.SetBatchJobID)
	setText(c.SystemdUnit, rb.SetSystemdUnitName)
	setOwners(rb, c.Owners)
}

// setOwners sets the owners for whose kinds the conventions have attributes, and the topmost owner of whatever kind.
func setOwners(rb *metadata.ResourceBuilder, owners []gpu.Owner) {
	for kind, owner := range gpu.NearestOwners(owners) {
		if owner != nil {
			setOwner(rb, gpu.OwnerKind(kind), owner)
		}
	}
	if len(owners) > 0 {
		top := owners[len(owners)-1]
		setText(top.Kind, rb.SetK8sWorkloadKind)
		setText(top.Name, rb.SetK8sWorkloadName)
	}
}

func setOwner(rb *metadata.ResourceBuilder, kind gpu.OwnerKind, owner *gpu.Owner) {
	var name, uid func(string)
	switch kind {
	case gpu.OwnerReplicaSet:
		name, uid = rb.SetK8sReplicasetName, rb.SetK8sReplicasetUID
	case gpu.OwnerDeployment:
		name, uid = rb.SetK8sDeploymentName, rb.SetK8sDeploymentUID
	case gpu.OwnerStatefulSet:
		name, uid = rb.SetK8sStatefulsetName, rb.SetK8sStatefulsetUID
	case gpu.OwnerDaemonSet:
		name, uid = rb.SetK8sDaemonsetName, rb.SetK8sDaemonsetUID
	case gpu.OwnerJob:
		name, uid = rb.SetK8sJobName, rb.SetK8sJobUID
	case gpu.OwnerCronJob:
		name, uid = rb.SetK8sCronjobName, rb.SetK8sCronjobUID
	default:
		return
	}
	setText(owner.Name, name)
	setText(owner.UID, uid)
}

// processResource returns the resource of a process on the host, with the attributes of its container if it has one.
func processResource(rb *metadata.ResourceBuilder, host *gpu.Host, p *gpu.Process, id *processIdentity) pcommon.Resource {
	setHost(rb, host)
	rb.SetProcessPid(p.PID)
	if !id.created.IsZero() {
		rb.SetProcessCreationTime(iso8601(id.created))
	}
	setText(id.executable, rb.SetProcessExecutableName)
	setText(id.command, rb.SetProcessCommand)
	setText(id.commandLine, rb.SetProcessCommandLine)
	setText(id.owner, rb.SetProcessOwner)
	if uid, ok := id.userID.Get(); ok {
		rb.SetProcessUserID(uid)
	}
	if id.container == nil {
		return rb.Emit()
	}
	setContainer(rb, id.container)
	return withLabels(rb.Emit(), id.container.Labels)
}

// withLabels adds the configured labels and annotations, by their full attribute names.
func withLabels(res pcommon.Resource, labels map[string]string) pcommon.Resource {
	for name, value := range labels {
		res.Attributes().PutStr(name, value)
	}
	return res
}

// setText sets a resource attribute unless its text is empty.
func setText(text string, set func(string)) {
	if text != "" {
		set(text)
	}
}

// iso8601 formats a time as the conventions do.
func iso8601(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
