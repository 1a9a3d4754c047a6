// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"github.com/otelgpu/gpureceiver/internal/attribution/podlogs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// holder returns the container that the kubelet has allocated a device to. users are the containers that use the node's
// devices: where one of them is it, that one is returned.
//
// The kubelet tells a name, and a pod that is made anew has that of the one before. So what the API told is only taken as
// long as nothing on the machine shows that the name is another pod's by now.
func (c *containers) holder(name podContainer, users *users) *gpu.Container {
	r := c.names[name]
	if r != nil && r.generation == c.generation {
		return r.container
	}
	found := gpu.Container{Namespace: name.namespace, PodName: name.pod, Name: name.name}
	pod := c.podNamed(name, users)
	switch {
	case pod != nil:
		describe(&found, pod, c.view.Owners)
		found.ID = pod.ContainerID(name.name)
	case r != nil && r.pod != nil && !c.replaced(name, r.pod, users):
		found, pod = *r.container, r.pod // gone from the API, and the kubelet has not taken the device back yet
	default:
		found.PodUID, found.ID = c.shown(name, users)
	}
	container := users.same(&found)
	if container == nil {
		container = c.intern(&found)
	}
	remember(c.names, name, r, container, c.generation).pod = pod
	return container
}

// podNamed returns the pod that the API tells of under a name; nil where it tells of none, or of one that is another pod by
// now, which is looked into while the API cannot be read.
func (c *containers) podNamed(name podContainer, users *users) *kube.Pod {
	if c.view == nil {
		return nil
	}
	pod := c.view.Pods.ByName(name.namespace, name.pod)
	if pod != nil && c.stale && c.replaced(name, pod, users) {
		return nil
	}
	return pod
}

// replaced tells whether the machine shows that a name is not that of the pod any more which had it.
func (c *containers) replaced(name podContainer, pod *kube.Pod, users *users) bool {
	uid, _ := c.shown(name, users)
	return uid != "" && uid != pod.UID && uid != pod.StaticUID
}

// shown is what the machine shows of the container with a name, as far as it does: the UID of its pod and its id. A
// process that runs in it is surest; the log files may still be those of an earlier pod for a moment.
func (c *containers) shown(name podContainer, users *users) (uid, id string) {
	if user := users.only(name); user != nil && user.PodUID != "" {
		return user.PodUID, user.ID
	}
	if !c.lookAtLogs() {
		return "", ""
	}
	container := podlogs.Container{Pod: podlogs.Pod{Namespace: name.namespace, Name: name.pod}, Name: name.name}
	uid, _ = c.logs.UIDOf(container)
	id, _ = c.logs.ID(container)
	return uid, id
}
