// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Any user who may create a pod decides its annotations and owners; in the API's binary form, these are any bytes of any length. The API
// server checks only the keys of annotations and that owners have a name. If one byte is not UTF-8, a backend refuses the whole message.
func TestPodFieldsInvalidText(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	input := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "tenant", Name: "train", UID: "uid",
		Annotations: map[string]string{"team": "a\xff", "long": long},
		Labels:      map[string]string{"app": "b\xfe"},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1\xff", Kind: "Kind\xff" + long, Name: "name\xff" + long, UID: "uid\xff", Controller: new(bool),
		}},
	}}
	wire, err := input.Marshal()
	require.NoError(t, err)
	var pod corev1.Pod
	require.NoError(t, pod.Unmarshal(wire))
	require.Equal(t, "a\xff", pod.Annotations["team"], "the API's binary form takes any bytes")

	stored := storePod(&pod, &PodsOptions{Labels: []string{"app"}, Annotations: []string{"team", "long"}})
	assert.Equal(t, "a\uFFFD", stored.pod.Attributes["k8s.pod.annotation.team"])
	for key, value := range stored.pod.Attributes {
		assert.True(t, utf8.ValidString(value), key)
		assert.LessOrEqual(t, len(value), maxValue, key)
		assert.NotEmpty(t, value, key)
	}
	for _, owner := range (*Owners)(nil).Of(&stored.pod) {
		for _, s := range []string{owner.APIVersion, owner.Kind, owner.Name, owner.UID} {
			assert.True(t, utf8.ValidString(s))
			assert.LessOrEqual(t, len(s), maxName)
		}
	}
	pod.OwnerReferences[0] = metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "train-1", UID: "u"}
	stored = storePod(&pod, &PodsOptions{})
	assert.Equal(t, []gpu.Owner{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "train-1", UID: "u"}}, (*Owners)(nil).Of(&stored.pod))
}
