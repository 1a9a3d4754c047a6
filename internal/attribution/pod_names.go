// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"github.com/otelgpu/gpureceiver/internal/attribution/podlogs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// holder returns the container to which the kubelet has allocated a device. It is one of the users if one of them is the same
// container.
//
// The kubelet gives a name, and a recreated pod has the name of the pod before. So what the API said counts only until the machine
// shows that the name is another pod's.
func (c *containers) holder(name podContainer, users *users) *gpu.Container {
	last := c.holders[name]
	if last != nil && last.read == c.read {
		return last.container
	}
	found := gpu.Container{Namespace: name.namespace, PodName: name.pod, Name: name.name}
	pod := c.podNamed(name, users)
	switch {
	case pod != nil:
		describe(&found, pod, c.view.Owners)
		found.ID = pod.ContainerID(name.name)
	case last != nil && last.pod != nil && !c.replaced(name, last.pod, users):
		found, pod = *last.container, last.pod // deleted from the API, and the kubelet has not taken the device back yet
	default:
		found.PodUID, found.ID = c.onMachine(name, users)
	}
	container := users.same(&found)
	if container == nil {
		container = c.intern(&found)
	}
	remember(c.holders, name, container, c.read).pod = pod
	return container
}

// podNamed returns the pod that has a name in the API; nil if there is no such pod. While the API cannot be read, it is also nil if the
// machine shows that the name is another pod's.
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

// replaced reports whether the machine shows that a name no longer belongs to a pod.
func (c *containers) replaced(name podContainer, pod *kube.Pod, users *users) bool {
	uid, _ := c.onMachine(name, users)
	return uid != "" && uid != pod.UID && uid != pod.StaticUID
}

// onMachine returns the UID of the pod and the ID of the container that the machine shows under a name; empty if it shows neither. A
// process in the container is the best evidence, because log files may belong to an earlier pod for a moment.
func (c *containers) onMachine(name podContainer, users *users) (uid, id string) {
	if user := users.only(name); user != nil && user.PodUID != "" {
		return user.PodUID, user.ID
	}
	if !c.refreshLogs() {
		return "", ""
	}
	container := podlogs.Container{Pod: podlogs.Pod{Namespace: name.namespace, Name: name.pod}, Name: name.name}
	uid, _ = c.logs.UIDOf(container)
	id, _ = c.logs.ID(container)
	return uid, id
}
