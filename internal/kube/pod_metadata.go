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
func podMetadata(pod *corev1.Pod, wanted func(key string) bool) *PodMetadata {
	if wanted == nil {
		return nil
	}
	m := &PodMetadata{Labels: selected(pod.Labels, wanted), Annotations: selected(pod.Annotations, wanted)}
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

func selected(all map[string]string, wanted func(key string) bool) map[string]string {
	var kept map[string]string
	for key, value := range all {
		if !wanted(key) || len(value) > maxMetadataValue {
			continue
		}
		if kept == nil {
			kept = make(map[string]string)
		}
		kept[strings.Clone(key)] = strings.Clone(value)
	}
	return kept
}

func specContainer(c *corev1.Container, init bool) SpecContainer {
	kept := SpecContainer{Name: gpu.BoundedText(c.Name, maxName), Init: init}
	eachDevice(c, func(resource string, count int64) {
		if kept.Devices == nil {
			kept.Devices = make(map[string]int64)
		}
		kept.Devices[resource] = count
	})
	return kept
}

func indexMetadata(object any) ([]string, error) {
	if stored, ok := object.(*storedPod); ok && stored.pod.Metadata != nil && !stored.pod.Ended() {
		return []string{""}, nil
	}
	return nil, nil
}

// WithMetadata returns the pods that have not ended and have Metadata.
func (p *Pods) WithMetadata() []*Pod { return p.marked(metadataIndex) }
