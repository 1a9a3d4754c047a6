// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	// maxMetadata is how many labels and annotations of a pod are kept in its Metadata. Schedulers write one for each GPU at most.
	maxMetadata = 64
	// maxMetadataValue bounds their values, in bytes. What is longer is left out: a part of it would say something else.
	maxMetadataValue = 8192
)

// PodMetadata is what PodsOptions.Metadata selects of a pod, with the containers of its specification.
type PodMetadata struct {
	Labels, Annotations map[string]string
	Containers          []SpecContainer // init containers first, as the kubelet starts them
}

// SpecContainer is a container of a pod's specification.
type SpecContainer struct {
	Name    string
	Init    bool
	Devices map[string]int64 // the extended resources that it requests
}

// podMetadata returns nil if a pod does not have any of the wanted labels and annotations, or more than any scheduler writes.
func podMetadata(pod *corev1.Pod, match func(key string) bool) *PodMetadata {
	if match == nil {
		return nil
	}
	m := &PodMetadata{Labels: selected(pod.Labels, match), Annotations: selected(pod.Annotations, match)}
	if n := len(m.Labels) + len(m.Annotations); n == 0 || n > maxMetadata {
		return nil
	}
	for i := range pod.Spec.InitContainers {
		m.Containers = append(m.Containers, specContainer(&pod.Spec.InitContainers[i], true))
	}
	for i := range pod.Spec.Containers {
		m.Containers = append(m.Containers, specContainer(&pod.Spec.Containers[i], false))
	}
	return m
}

func selected(all map[string]string, match func(key string) bool) map[string]string {
	var values map[string]string
	for key, value := range all {
		if !match(key) || len(value) > maxMetadataValue {
			continue
		}
		if values == nil {
			values = make(map[string]string)
		}
		values[strings.Clone(key)] = strings.Clone(value)
	}
	return values
}

func specContainer(c *corev1.Container, init bool) SpecContainer {
	spec := SpecContainer{Name: gpu.BoundedText(c.Name, maxName), Init: init}
	eachDevice(c, func(resource string, count int64) {
		if spec.Devices == nil {
			spec.Devices = make(map[string]int64)
		}
		spec.Devices[resource] = count
	})
	return spec
}

func indexMetadata(object any) ([]string, error) {
	if stored, ok := object.(*storedPod); ok && stored.pod.Metadata != nil && !stored.pod.Ended() {
		return []string{""}, nil
	}
	return nil, nil
}

// WithMetadata returns the pods that have not ended and have Metadata.
func (p *Pods) WithMetadata() []*Pod { return p.marked(metadataIndex) }
