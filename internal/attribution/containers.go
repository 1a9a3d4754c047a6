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

// keepContainers is for how many attributions a container is remembered that was not asked for.
const keepContainers = 16

// identity is what a container is known by.
type identity struct {
	namespace, pod, uid, name, id string
	unit, job                     string
}

func identityOf(c *gpu.Container) identity {
	return identity{
		namespace: c.Namespace, pod: c.PodName, uid: c.PodUID, name: c.Name, id: c.ID, unit: c.SystemdUnit, job: c.SlurmJob,
	}
}

// podContainer is a container by its names, as the kubelet tells what it holds.
type podContainer struct{ namespace, pod, name string }

// containers completes what is known of containers: what is told by UID and id gets names, what is told by names gets
// UID and id.
type containers struct {
	view *kube.View    // nil where the API may not be read
	logs *podlogs.Dirs // nil where processes are not attributed

	node       string // the machine's name in Kubernetes; empty where it is not known
	generation uint64
	groups     map[string]*group            // control groups, by what was read of them
	refs       map[cgroup.Ref]*remembered   // users
	names      map[podContainer]*remembered // holders
	known      map[identity]*remembered     // one object for each container
	fresh      bool                         // the logs have been looked at in this generation
	logsErr    error
	stale      bool // the API could not be read of late: what it told last may not be so any more
}

// group is what control groups tell.
type group struct {
	ref        cgroup.Ref
	generation uint64
}

type remembered struct {
	container  *gpu.Container
	generation uint64
	pod        *kube.Pod // of a holder: as the API told it last; nil where what is known is not from there
}

func newContainers(view *kube.View, logs *podlogs.Dirs) *containers {
	return &containers{
		view: view, logs: logs,
		groups: make(map[string]*group),
		refs:   make(map[cgroup.Ref]*remembered),
		names:  make(map[podContainer]*remembered),
		known:  make(map[identity]*remembered),
	}
}

// begin starts an attribution.
func (c *containers) begin(node string) {
	c.generation++
	c.node = node
	c.fresh, c.logsErr = false, nil
	c.stale = c.view != nil && c.view.Pods.Err() != nil
	if c.generation%keepContainers == 0 {
		maps.DeleteFunc(c.groups, func(_ string, g *group) bool { return c.old(g.generation) })
		prune(c, c.refs)
		prune(c, c.names)
		prune(c, c.known)
	}
}

// old tells whether what was last asked for in a generation is to be forgotten.
func (c *containers) old(generation uint64) bool { return generation+keepContainers < c.generation }

func prune[K comparable](c *containers, m map[K]*remembered) {
	maps.DeleteFunc(m, func(_ K, r *remembered) bool { return c.old(r.generation) })
}

// ref returns what control groups tell, which are parsed once.
func (c *containers) ref(content string) cgroup.Ref {
	g := c.groups[content]
	if g == nil {
		g = &group{ref: cgroup.Parse(content)}
		c.groups[content] = g
	}
	g.generation = c.generation
	return g.ref
}

// user returns the container of a process; nil where it is said to be in a pod of another node. A node is believed of its own pods
// alone: whoever has taken one could have what its processes use charged to any tenant.
func (c *containers) user(ref cgroup.Ref) *gpu.Container {
	r := c.refs[ref]
	if r != nil && r.generation == c.generation {
		return r.container
	}
	found := gpu.Container{PodUID: ref.PodUID, ID: ref.ContainerID, SystemdUnit: ref.SystemdUnit, SlurmJob: ref.SlurmJob}
	if ref.InContainer() {
		pod := c.podOf(ref)
		if pod != nil && pod.Node != "" && c.node != "" && pod.Node != c.node {
			return nil
		}
		if pod != nil {
			describe(&found, pod, c.view.Owners)
			found.Name = pod.ContainerByID(ref.ContainerID)
			if found.Name == "" && len(pod.Containers) == 1 {
				// It can be no other: a sandbox that runs all of the pod, or an instance that the API does not tell of yet.
				found.Name = pod.Containers[0].Name
				if found.ID == "" {
					found.ID = pod.Containers[0].ID
				}
			}
		}
		// The pod may be gone from the API, and the process not yet: then it is what was last known. The log files may tell a part of it.
		last := r != nil && pod == nil && r.container.PodName != ""
		switch {
		case last && r.container.Name != "":
			found = *r.container
		case found.PodName == "" || found.Name == "":
			c.fromLogs(&found)
			if last && found.PodName == "" {
				found = *r.container
			}
		}
	}
	container := c.intern(&found)
	remember(c.refs, ref, r, container, c.generation)
	return container
}

func remember[K comparable](m map[K]*remembered, key K, r *remembered, container *gpu.Container, generation uint64) *remembered {
	if r == nil {
		r = &remembered{}
		m[key] = r
	}
	r.container, r.generation = container, generation
	return r
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

// describe sets what the API tells of a pod.
func describe(container *gpu.Container, pod *kube.Pod, owners *kube.Owners) {
	container.Namespace, container.PodName, container.PodUID = pod.Namespace, pod.Name, pod.UID
	container.Owners = owners.Of(pod)
	container.Labels = pod.Attributes
}

// fromLogs names a container from the kubelet's log files.
func (c *containers) fromLogs(container *gpu.Container) {
	if !c.lookAtLogs() {
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

// lookAtLogs reads the logs' folders, once for each attribution that needs them.
func (c *containers) lookAtLogs() bool {
	if c.logs == nil {
		return false
	}
	if !c.fresh {
		c.fresh = true
		c.logsErr = c.logs.Refresh()
	}
	return true
}

// intern returns the one object of a container. Containers are never changed after they were handed out, so one of which
// more is known by now is a new one.
func (c *containers) intern(container *gpu.Container) *gpu.Container {
	key := identityOf(container)
	r := c.known[key]
	if r == nil || !slices.Equal(r.container.Owners, container.Owners) || !maps.Equal(r.container.Labels, container.Labels) {
		kept := *container
		r = &remembered{container: &kept}
		c.known[key] = r
	}
	r.generation = c.generation
	return r.container
}
