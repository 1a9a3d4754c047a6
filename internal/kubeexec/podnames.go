// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"maps"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/attribution/cgroup"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// podNames finds the container of a control group, and the pod's names and owners in the cluster's API. Where the API does
// not know the pod, the pod's UID and the container's id remain: they stand in the control group.
type podNames struct {
	view   *kube.View
	parsed map[string]*named // by the content of the cgroup file
}

type named struct {
	ref       cgroup.Ref
	container *gpu.Container // nil where the process is in nothing that has a name
	used      bool
}

func newPodNames(view *kube.View) *podNames {
	return &podNames{view: view, parsed: make(map[string]*named)}
}

// container returns the container that a control group is; nil for none. Containers are never changed after they were
// handed out, so one of which more is known by now is a new one.
func (n *podNames) container(content string) *gpu.Container {
	if content == "" {
		return nil
	}
	entry := n.parsed[content]
	if entry == nil {
		entry = &named{ref: cgroup.Parse(content)}
		n.parsed[content] = entry
	}
	entry.used = true
	if entry.ref == (cgroup.Ref{}) {
		return nil
	}
	found := n.find(entry.ref)
	if known := entry.container; known != nil {
		gone := found.PodName == "" && known.PodName != "" // from the API; the process is not yet
		if gone || sameContainer(known, &found) {
			return known
		}
	}
	entry.container = &found
	return entry.container
}

func (n *podNames) find(ref cgroup.Ref) gpu.Container {
	found := gpu.Container{PodUID: ref.PodUID, ID: ref.ContainerID, SystemdUnit: ref.SystemdUnit, SlurmJob: ref.SlurmJob}
	if n.view == nil || !ref.InContainer() {
		return found
	}
	var pod *kube.Pod
	if ref.PodUID != "" {
		pod = n.view.Pods.ByUID(ref.PodUID)
	} else {
		pod = n.view.Pods.ByContainerID(ref.ContainerID)
	}
	if pod != nil {
		found.Namespace, found.PodName, found.PodUID = pod.Namespace, pod.Name, pod.UID
		found.Name = pod.ContainerByID(ref.ContainerID)
		found.Owners = n.view.Owners.Of(pod)
		found.Labels = pod.Attributes
	}
	return found
}

func sameContainer(a, b *gpu.Container) bool {
	return a.Namespace == b.Namespace && a.PodName == b.PodName && a.PodUID == b.PodUID && a.Name == b.Name && a.ID == b.ID &&
		slices.Equal(a.Owners, b.Owners) && maps.Equal(a.Labels, b.Labels)
}

// forget drops what the last read did not use.
func (n *podNames) forget() {
	for content, entry := range n.parsed {
		if !entry.used {
			delete(n.parsed, content)
			continue
		}
		entry.used = false
	}
}
