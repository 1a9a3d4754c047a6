// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodMetadata(t *testing.T) {
	selected := func(key string) bool { return strings.HasPrefix(key, "gpu") }
	requests := func(name string, limits corev1.ResourceList) corev1.Container {
		return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Limits: limits}}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"gpu-group": "a", "app": "x"}, Annotations: map[string]string{"gpu-fraction": "0.5", "other": "y"},
		},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{requests("prepare", nil)},
			Containers: []corev1.Container{requests("main", corev1.ResourceList{
				"nvidia.com/gpu": resource.MustParse("2"), "cpu": resource.MustParse("4"), "example.com/none": resource.MustParse("0"),
			})},
		},
	}
	got := newPod(pod, &PodsOptions{Metadata: selected})
	assert.Equal(t, &PodMetadata{
		Labels: map[string]string{"gpu-group": "a"}, Annotations: map[string]string{"gpu-fraction": "0.5"},
		Containers: []SpecContainer{{Name: "prepare", Init: true}, {Name: "main", Devices: map[string]int64{"nvidia.com/gpu": 2}}},
	}, got.Metadata)
	assert.True(t, got.WantsDevices)
	assert.Nil(t, newPod(pod, &PodsOptions{}).Metadata, "nobody wants any")

	pod.Labels, pod.Annotations = nil, map[string]string{"gpu-fraction": strings.Repeat("0", maxMetadataValue+1)}
	assert.Nil(t, newPod(pod, &PodsOptions{Metadata: selected}).Metadata, "a part of the value would say something else")
	pod.Annotations = map[string]string{}
	for i := range maxMetadata + 1 {
		pod.Annotations[fmt.Sprint("gpu", i)] = ""
	}
	assert.Nil(t, newPod(pod, &PodsOptions{Metadata: selected}).Metadata, "no scheduler writes as many")
	delete(pod.Annotations, "gpu0")
	assert.Len(t, newPod(pod, &PodsOptions{Metadata: selected}).Metadata.Annotations, maxMetadata)
}

func TestPodsWithMetadata(t *testing.T) {
	for _, tt := range []struct {
		phase    corev1.PodPhase
		metadata *PodMetadata
		want     int
	}{{corev1.PodRunning, &PodMetadata{}, 1}, {corev1.PodPending, &PodMetadata{}, 1}, {corev1.PodFailed, &PodMetadata{}, 0}, {corev1.PodRunning, nil, 0}} {
		values, err := indexMetadata(&storedPod{pod: Pod{Phase: tt.phase, Metadata: tt.metadata}})
		require.NoError(t, err)
		assert.Len(t, values, tt.want)
	}
}
