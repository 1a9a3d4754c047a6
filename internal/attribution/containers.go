// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"maps"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/attribution/cgroup"
	"github.com/otelgpu/gpureceiver/internal/attribution/podlogs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// keepContainers is how many reads a container is remembered for after the last read that had it.
const keepContainers = 16

// containerKey distinguishes containers, jobs and units.
type containerKey struct {
	namespace, pod, uid, name, id, runtimeName string
	job                                        gpu.Job
	unit                                       string
}

func keyOf(c *gpu.Container) containerKey {
	key := containerKey{
		namespace: c.Namespace, pod: c.PodName, uid: c.PodUID, name: c.Name, id: c.ID, job: c.Job(), unit: c.SystemdUnit,
	}
	if c.Runtime == "" { // else the ID distinguishes it, and its name may become known later
		key.runtimeName = c.RuntimeName
	}
	return key
}

// podContainer names a container as the kubelet does in its allocations.
type podContainer struct{ namespace, pod, name string }

func podContainerOf(c *gpu.Container) podContainer {
	return podContainer{namespace: c.Namespace, pod: c.PodName, name: c.Name}
}

// containers completes what is known about containers: containers of processes, known by UID and ID, get names (user); containers that hold
// devices, known by names, get UID and ID (holder, in pod_names.go).
type containers struct {
	view *kube.View    // nil if the API may not be read
	logs *podlogs.Dirs // nil if processes are not attributed
	// runtimes describes containers outside of pods; nil if no runtime is queried.
	runtimes *runtimeContainers

	node      string // the machine's name in Kubernetes; empty if it is unknown
	read      uint64 // number of the read
	stale     bool   // the API could not be read lately, so what it said last may be out of date
	refreshed bool   // the logs' directories have been read in this read
	logsErr   error

	users   map[cgroup.Ref]*remembered
	holders map[podContainer]*remembered
	known   map[containerKey]*remembered // one object for each container
	jobs    *slurmJobs
}

type remembered struct {
	container *gpu.Container
	read      uint64    // the last read that had it
	pod       *kube.Pod // of a holder: the API's last answer; nil if there was no answer
}

func newContainers(view *kube.View, logs *podlogs.Dirs) *containers {
	return &containers{
		view: view, logs: logs,
		users:   make(map[cgroup.Ref]*remembered),
		holders: make(map[podContainer]*remembered),
		known:   make(map[containerKey]*remembered),
		jobs:    newSlurmJobs(),
	}
}

// begin starts a read.
func (c *containers) begin(node string) {
	c.read++
	c.node = node
	c.refreshed, c.logsErr = false, nil
	c.stale = c.view != nil && c.view.Pods.Err() != nil
	if c.read%keepContainers == 0 {
		forget(c.users, c.read)
		forget(c.holders, c.read)
		forget(c.known, c.read)
	}
	c.jobs.begin(c.read)
	c.runtimes.begin(c.read)
}

func forget[K comparable](m map[K]*remembered, read uint64) {
	maps.DeleteFunc(m, func(_ K, r *remembered) bool { return r.read+keepContainers < read })
}

func remember[K comparable](m map[K]*remembered, key K, container *gpu.Container, read uint64) *remembered {
	r := m[key]
	if r == nil {
		r = &remembered{}
		m[key] = r
	}
	r.container, r.read = container, read
	return r
}

// user returns the container, job or unit of a process; nil if the process claims to be in a pod of another node. A node is trusted with
// its own pods only: otherwise an attacker who controls one node could attribute its processes' use to any tenant.
func (c *containers) user(ref cgroup.Ref) *gpu.Container {
	last := c.users[ref]
	if last != nil && last.read == c.read {
		return last.container
	}
	found := gpu.Container{
		PodUID: ref.PodUID, ID: ref.ContainerID, RuntimeName: ref.ContainerName,
		SlurmJob: ref.SlurmJob, SlurmSLUID: ref.SlurmSLUID, BatchSystem: ref.BatchSystem, BatchJob: ref.BatchJob,
		SystemdUnit: ref.SystemdUnit,
	}
	if ref.PodUID != "" || ref.ContainerID != "" {
		pod := c.podOf(ref)
		if pod != nil && pod.Node != "" && c.node != "" && pod.Node != c.node {
			return nil
		}
		if pod != nil {
			describe(&found, pod, c.view.Owners)
			nameUser(&found, pod)
		}
		// The API may have forgotten the pod before the process ends. Then the container keeps what was last known about it, which
		// may be more than the log files say.
		known := last != nil && pod == nil && last.container.PodName != ""
		switch {
		case known && last.container.Name != "":
			found = *last.container
		case found.PodName == "" || found.Name == "":
			c.nameFromLogs(&found)
			if known && found.PodName == "" {
				found = *last.container
			}
		}
	}
	c.jobs.describe(&found)
	c.runtimes.describe(&found)
	container := c.intern(&found)
	remember(c.users, ref, container, c.read)
	return container
}

// podsWithInitDevices returns the pods whose init containers have devices that the kubelet does not list, as far as the API says so.
func (c *containers) podsWithInitDevices() []*kube.Pod {
	if c.view == nil {
		return nil
	}
	return c.view.Pods.WithInitDevices()
}

func (c *containers) podOf(ref cgroup.Ref) *kube.Pod {
	switch {
	case c.view == nil:
		return nil
	case ref.PodUID != "":
		return c.view.Pods.ByUID(ref.PodUID)
	default:
		return c.view.Pods.ByContainerID(ref.ContainerID)
	}
}

// describe sets what the API says about a container's pod.
func describe(container *gpu.Container, pod *kube.Pod, owners *kube.Owners) {
	container.Namespace, container.PodName, container.PodUID = pod.Namespace, pod.Name, pod.UID
	container.Owners = owners.Of(pod)
	container.Labels = pod.Attributes
}

// nameUser sets the name of a process's container from its pod. An unknown ID belongs to the pod's only container, if the pod has one in
// addition to init containers that have ended: the ID is of a sandbox that runs the whole pod, or of an instance that the API does not list
// yet.
func nameUser(container *gpu.Container, pod *kube.Pod) {
	container.Name = pod.ContainerByID(container.ID)
	if container.Name != "" {
		return
	}
	if only := pod.OnlyContainer(); only != nil {
		container.Name = only.Name
		if container.ID == "" {
			container.ID = only.ID
		}
	}
}

// nameFromLogs sets the names of a container from the kubelet's log files.
func (c *containers) nameFromLogs(container *gpu.Container) {
	if !c.refreshLogs() {
		return
	}
	if found, ok := c.logs.Container(container.ID); ok {
		container.Name = found.Name
		if container.PodName == "" {
			container.Namespace, container.PodName = found.Namespace, found.Pod.Name
		}
		if container.PodUID == "" {
			container.PodUID, _ = c.logs.UID(found.Pod)
		}
		return
	}
	if found, ok := c.logs.Pod(container.PodUID); ok && container.PodName == "" {
		container.Namespace, container.PodName = found.Namespace, found.Name
	}
}

// refreshLogs reads the logs' directories, once in a read that needs them. It reports whether there are any.
func (c *containers) refreshLogs() bool {
	if c.logs == nil {
		return false
	}
	if !c.refreshed {
		c.refreshed = true
		c.logsErr = c.logs.Refresh()
	}
	return true
}

// intern returns the one object of a container. A container never changes after it was handed out, so one with new owners or labels is
// a new object.
func (c *containers) intern(container *gpu.Container) *gpu.Container {
	key := keyOf(container)
	last := c.known[key]
	if last == nil || !isDescribedAlike(last.container, container) {
		stored := *container
		return remember(c.known, key, &stored, c.read).container
	}
	last.read = c.read
	return last.container
}

// isDescribedAlike reports whether the same is known of two containers, except for what distinguishes them.
func isDescribedAlike(a, b *gpu.Container) bool {
	return slices.Equal(a.Owners, b.Owners) && maps.Equal(a.Labels, b.Labels) &&
		a.Runtime == b.Runtime && a.RuntimeName == b.RuntimeName && a.ImageName == b.ImageName && slices.Equal(a.ImageTags, b.ImageTags) &&
		a.SlurmUser == b.SlurmUser && a.SlurmAccount == b.SlurmAccount && a.SlurmPartition == b.SlurmPartition
}
