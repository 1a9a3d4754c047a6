// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The annotations of the pod object by which a kubelet shows a static pod. staticHash is the UID that the pod has on its node, in the
// names of its control groups and log files; the pod object has another UID. staticMirror has the same value.
const (
	staticHash   = "kubernetes.io/config.hash"
	staticMirror = "kubernetes.io/config.mirror"
)

// Pod is what is kept of a pod. It never changes after it was handed out.
type Pod struct {
	Namespace, Name, UID string
	Node                 string // its node; empty before it is scheduled
	StaticUID            string // the UID that a static pod has on its node; empty for any other pod
	Phase                corev1.PodPhase
	Owners               []metav1.OwnerReference     // only APIVersion, Kind, Name, UID and Controller
	Attributes           map[string]string           // the wanted labels and annotations, by the names of their resource attributes
	Metadata             *PodMetadata                // nil if PodsOptions.Metadata selects nothing of it
	Containers           []Container                 // of all kinds, in the pod's order, that have a status
	WantsDevices         bool                        // it requests something that a device plugin or a driver hands out, or has Metadata
	Init                 *InitDevices                // nil if none of its init containers has devices that the kubelet does not list
	requests             map[containerClaim][]string // of claims
}

// Container is a container of a pod.
type Container struct {
	Name string
	ID   string // of the current or last instance, without the runtime's prefix; empty before the first
	// Ended reports that it has ended and the pod goes on without it: an init container other than a sidecar, or an ephemeral one.
	Ended bool
}

// Ended reports that no container of the pod runs any more or will run again.
func (p *Pod) Ended() bool {
	return p.Phase == corev1.PodSucceeded || p.Phase == corev1.PodFailed
}

// newPod returns what is kept of a pod.
func newPod(pod *corev1.Pod, options *PodsOptions) Pod {
	metadata := podMetadata(pod, options.Metadata)
	return Pod{
		Namespace:    pod.Namespace,
		Name:         pod.Name,
		UID:          string(pod.UID),
		Node:         pod.Spec.NodeName,
		StaticUID:    staticUID(pod),
		Phase:        pod.Status.Phase,
		Owners:       owners(pod.OwnerReferences),
		Attributes:   attributes(pod, options.Labels, options.Annotations),
		Metadata:     metadata,
		Containers:   containers(pod),
		WantsDevices: wantsDevices(&pod.Spec) || metadata != nil,
		Init:         initDevices(pod),
		requests:     claimRequests(pod),
	}
}

// wantsDevices reports whether a pod has a claim or requests an extended resource. Only their names have a domain.
func wantsDevices(spec *corev1.PodSpec) bool {
	if len(spec.ResourceClaims) > 0 {
		return true
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for resource := range containers[i].Resources.Limits {
				if strings.Contains(string(resource), "/") {
					return true
				}
			}
		}
	}
	return false
}

// staticUID returns the UID that a static pod has on its node; empty for any other pod. Any user who may create a pod may annotate it, so
// the annotation counts only if the rest is as kubelets make it and the API server demands of them: the pod's node owns it.
func staticUID(pod *corev1.Pod) string {
	uid := pod.Annotations[staticHash]
	if uid == "" || pod.Annotations[staticMirror] != uid || len(pod.OwnerReferences) != 1 {
		return ""
	}
	owner := &pod.OwnerReferences[0]
	if owner.APIVersion != "v1" || owner.Kind != "Node" || owner.Name != pod.Spec.NodeName {
		return ""
	}
	return uid
}

func attributes(pod *corev1.Pod, labels, annotations []string) map[string]string {
	values := make(map[string]string)
	for _, key := range labels {
		if value, ok := pod.Labels[key]; ok {
			values["k8s.pod.label."+key] = gpu.BoundedText(value, maxValue)
		}
	}
	for _, key := range annotations {
		if value, ok := pod.Annotations[key]; ok {
			values["k8s.pod.annotation."+key] = gpu.BoundedText(value, maxValue)
		}
	}
	if len(values) == 0 {
		return nil
	}
	return values
}

// maxValue bounds the value of an annotation, in bytes. All annotations of a pod may have 256 KiB, and are sent with each of its
// processes.
const maxValue = 4096

// containers returns the containers of all kinds that have a status. The API server does not check what a kubelet writes there.
func containers(pod *corev1.Pod) []Container {
	status := &pod.Status
	all := make([]Container, 0, len(status.InitContainerStatuses)+len(status.ContainerStatuses)+len(status.EphemeralContainerStatuses))
	add := func(s *corev1.ContainerStatus, once bool) {
		all = append(all, Container{
			Name: gpu.BoundedText(s.Name, maxName), ID: gpu.BoundedText(bareID(s.ContainerID), maxName), Ended: once && s.State.Terminated != nil,
		})
	}
	for i := range status.InitContainerStatuses {
		s := &status.InitContainerStatuses[i]
		add(s, !slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == s.Name && isSidecar(&c) }))
	}
	for i := range status.ContainerStatuses {
		add(&status.ContainerStatuses[i], false)
	}
	for i := range status.EphemeralContainerStatuses {
		add(&status.EphemeralContainerStatuses[i], true)
	}
	return all
}

// bareID cuts the runtime's prefix off a container's ID: containerd://3f25….
func bareID(id string) string {
	if _, bare, ok := strings.Cut(id, "://"); ok {
		return bare
	}
	return id
}

// ContainerByID returns the name of the container with an ID; empty if the pod has no such container.
func (p *Pod) ContainerByID(id string) string {
	for i := range p.Containers {
		if p.Containers[i].ID == id && id != "" {
			return p.Containers[i].Name
		}
	}
	return ""
}

// OnlyContainer returns the only container that has not ended; nil if there are several or none.
func (p *Pod) OnlyContainer() *Container {
	var only *Container
	for i := range p.Containers {
		switch c := &p.Containers[i]; {
		case c.Ended:
		case only != nil:
			return nil
		default:
			only = c
		}
	}
	return only
}

// ContainerID returns the ID of the container with a name; empty until the container has one.
func (p *Pod) ContainerID(name string) string {
	for i := range p.Containers {
		if p.Containers[i].Name == name {
			return p.Containers[i].ID
		}
	}
	return ""
}

// Requests returns the requests of a claim that a container has; none if it has the whole claim.
func (p *Pod) Requests(container, claim string) []string {
	return p.requests[containerClaim{container, claim}]
}
