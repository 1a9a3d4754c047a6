// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// shown are the fields of a pod whose texts may be in a snapshot, by their paths.
var shown = map[string]bool{
	"ObjectMeta.Name": true, "ObjectMeta.Namespace": true, "ObjectMeta.UID": true,
	"Spec.NodeName": true, "Spec.SchedulerName": true, "Spec.PriorityClassName": true, "Spec.RestartPolicy": true, "Spec.RuntimeClassName": true,
	"Spec.NodeSelector": true, "Spec.Tolerations.Key": true, "Spec.Tolerations.Operator": true, "Spec.Tolerations.Value": true, "Spec.Tolerations.Effect": true,
	"Spec.ResourceClaims.Name": true, "Spec.ResourceClaims.ResourceClaimName": true, "Spec.ResourceClaims.ResourceClaimTemplateName": true,
	"Status.Phase": true, "Status.Reason": true, "Status.QOSClass": true, "Status.NominatedNodeName": true,
	"Status.Conditions.Type": true, "Status.Conditions.Status": true, "Status.Conditions.Reason": true,
}

func shownPaths() map[string]bool {
	all := map[string]bool{}
	for path := range shown {
		all[path] = true
	}
	for _, kind := range []string{"Containers", "InitContainers"} {
		for _, field := range []string{"Name", "Image", "RestartPolicy", "Resources.Claims.Name", "Resources.Requests", "Resources.Limits"} {
			all["Spec."+kind+"."+field] = true
		}
	}
	for _, kind := range []string{"ContainerStatuses", "InitContainerStatuses"} {
		for _, field := range []string{
			"Name", "ContainerID", "State.Waiting.Reason", "LastTerminationState.Waiting.Reason",
		} {
			all["Status."+kind+"."+field] = true
		}
	}
	return all
}

// fill sets each text of a value, in maps keys and values, to its path, and every pointer, list and map to one element. It returns the paths.
func fill(v reflect.Value, path string, paths *[]string) {
	switch v.Kind() {
	case reflect.String:
		*paths = append(*paths, path)
		v.SetString("secret-" + strings.ReplaceAll(path, ".", "-") + "-end")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), path, paths)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path, paths)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, path, paths)
		fill(value, path, paths)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if t := v.Type(); t == reflect.TypeFor[metav1.Time]() || t == reflect.TypeFor[resource.Quantity]() || t == reflect.TypeFor[metav1.FieldsV1]() {
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fill(v.Field(i), strings.TrimPrefix(path+"."+f.Name, "."), paths)
			}
		}
	default:
	}
}

// A snapshot shows only the texts of named fields. The pod of this test has a text in every field of the API, also in the fields of later
// versions.
func TestSnapshotShowsNamedFieldsAlone(t *testing.T) {
	var pod corev1.Pod
	var paths []string
	fill(reflect.ValueOf(&pod).Elem(), "", &paths)
	require.Greater(t, len(paths), 500)
	forbidden := []string{
		"ObjectMeta.Annotations", "ObjectMeta.Labels", "Spec.Containers.Env.Value", "Spec.Containers.Env.ValueFrom.SecretKeyRef.LocalObjectReference.Name",
		"Spec.Containers.EnvFrom.SecretRef.LocalObjectReference.Name", "Spec.Containers.Command", "Spec.Containers.Args", "Spec.InitContainers.Args",
		"Spec.ImagePullSecrets.Name", "Spec.Volumes.VolumeSource.Secret.SecretName", "Status.Message", "Status.Conditions.Message",
		"Status.ContainerStatuses.State.Terminated.Message", "Status.ContainerStatuses.State.Waiting.Message", "Spec.Containers.LivenessProbe.ProbeHandler.Exec.Command",
	}
	text, allowed := Snapshot(&pod), shownPaths()
	require.True(t, json.Valid([]byte(text)))
	for _, path := range forbidden {
		require.Contains(t, paths, path, "the test fills it")
		require.NotContains(t, allowed, path)
	}
	for _, path := range paths {
		secret := "secret-" + strings.ReplaceAll(path, ".", "-") + "-end"
		assert.Equal(t, allowed[path], strings.Contains(text, secret), path)
	}
}

func TestSnapshot(t *testing.T) {
	pod := begun()
	scheduled(pod)
	running(pod, 1, 20)
	pod.Spec.Containers = []corev1.Container{{
		Name: "main", Image: "registry.example/train:1", Command: []string{"train", "--token=hidden"}, Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "hidden"}},
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi")}},
	}}
	pod.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "hidden"}
	assert.JSONEq(t, `{"metadata": {"namespace": "ml", "name": "train-0", "uid": "p1", "creationTimestamp": "2026-01-02T03:04:01Z"},
		"spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "registry.example/train:1", "limits": {"memory": "1Gi", "nvidia.com/gpu": "2"}}]},
		"status": {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}],
			"containerStatuses": [{"name": "main", "containerID": "c1", "ready": false, "restartCount": 1, "state": {"is": "running", "startedAt": "2026-01-02T03:04:20Z"}}]}}`,
		Snapshot(pod))
}

// A snapshot is bounded for every pod: also if each byte takes six in JSON.
func TestSnapshotIsBounded(t *testing.T) {
	for _, long := range []string{strings.Repeat("x", 1<<12), strings.Repeat("<", 1<<12), strings.Repeat("\xff", 1<<12)} {
		for _, many := range []int{1, 20, 1000} {
			pod := begun()
			pod.Spec.NodeSelector = map[string]string{}
			for i := range many {
				name := fmt.Sprint(i, long)
				pod.Spec.NodeSelector[name] = long
				pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: name, Value: name})
				pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimName: &name})
				c := corev1.Container{Name: name, Image: name, Resources: corev1.ResourceRequirements{
					Limits: corev1.ResourceList{corev1.ResourceName(name): resource.MustParse("1")},
				}}
				pod.Spec.Containers, pod.Spec.InitContainers = append(pod.Spec.Containers, c), append(pod.Spec.InitContainers, c)
				set(pod, condition(corev1.PodConditionType(name), "True", name, name, 1))
				pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, ContainerID: name})
			}
			text := Snapshot(pod)
			assert.LessOrEqual(t, len(text), maxSnapshot)
			require.True(t, json.Valid([]byte(text)))
			if many == 1000 && long[0] != '\xff' { // which is left out
				assert.True(t, strings.HasPrefix(text, `{"truncated":true`))
			}
		}
		pod := begun()
		pod.Name, pod.Namespace, pod.Spec.NodeName, pod.Status.Reason = long, long, long, long
		pod.Spec.SchedulerName, pod.Spec.PriorityClassName, pod.Spec.RuntimeClassName, pod.Status.NominatedNodeName = long, long, &long, long
		text := Snapshot(pod)
		assert.LessOrEqual(t, len(text), maxSnapshot)
		assert.True(t, json.Valid([]byte(text)))
	}
}

// A snapshot is sent when it differs from the last, and not for what it does not show.
func TestSnapshotEvents(t *testing.T) {
	pod := begun()
	podAt := func(version string) *Pod {
		p := podOf(pod)
		p.Snapshot, p.Version = Snapshot(pod), version
		return p
	}
	first := podAt("1")
	events := Changes(nil, first, now)
	require.Equal(t, []gpu.EventType{gpu.EventPodCreated, gpu.EventPodSnapshot}, typesOf(events))
	assert.Equal(t, first.Snapshot, events[1].Message)
	assert.Equal(t, events[1].UID, Changes(nil, podAt("1"), timeAt(55))[1].UID, "the same after a restart of the collector")
	pod.Annotations = map[string]string{"a": "b"}
	assert.Empty(t, Changes(first, podAt("2"), now))
	scheduled(pod)
	second := Changes(first, podAt("3"), now)
	require.Equal(t, []gpu.EventType{gpu.EventPodScheduled, gpu.EventPodSnapshot}, typesOf(second))
	assert.NotEqual(t, events[1].UID, second[1].UID)
}
