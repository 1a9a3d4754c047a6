// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// box is a container that idles, with devices of a resource.
func box(name, requests string, count int64) corev1.Container {
	c := corev1.Container{
		Name: name, Image: image, ImagePullPolicy: corev1.PullNever,
		Env: []corev1.EnvVar{
			{Name: envContainer, Value: name},
			{Name: envPod, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		},
	}
	if count > 0 {
		c.Resources.Limits = corev1.ResourceList{corev1.ResourceName(requests): *resource.NewQuantity(count, resource.DecimalSI)}
	}
	return c
}

// idle is a container without a device.
func idle(name string) corev1.Container { return box(name, "", 0) }

func spec(containers ...corev1.Container) corev1.PodSpec {
	grace, enough := int64(1), false
	return corev1.PodSpec{
		Containers: containers, TerminationGracePeriodSeconds: &grace, AutomountServiceAccountToken: &enough,
	}
}

// run makes a pod and waits until it runs.
func (w *world) run(t *testing.T, name string, containers ...corev1.Container) {
	t.Helper()
	w.runSpec(t, name, spec(containers...))
}

func (w *world) runSpec(t *testing.T, name string, spec corev1.PodSpec) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	_, err := w.client.CoreV1().Pods(w.namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	w.ready(t, name)
}

// ready waits until all containers of a pod run.
func (w *world) ready(t *testing.T, name string) {
	t.Helper()
	var pod *corev1.Pod
	eventually(t, "pod "+name+" runs", func() bool {
		var err error
		pod, err = w.client.CoreV1().Pods(w.namespace).Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && len(statuses(pod)) == len(pod.Spec.InitContainers)+len(pod.Spec.Containers) &&
			!slices.ContainsFunc(statuses(pod), func(s corev1.ContainerStatus) bool { return s.State.Running == nil })
	})
}

// remove deletes a pod and its expectations, and waits until it is gone.
func (w *world) remove(t *testing.T, name string, containers ...string) {
	t.Helper()
	require.NoError(t, w.client.CoreV1().Pods(w.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	w.forget(t, name, containers...)
	eventually(t, "pod "+name+" is gone", func() bool {
		_, err := w.client.CoreV1().Pods(w.namespace).Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// forget removes the expectations and the processes of a pod.
func (w *world) forget(t *testing.T, name string, containers ...string) {
	t.Helper()
	for _, container := range containers {
		delete(w.want, name+"/"+container)
	}
	w.users = slices.DeleteFunc(w.users, func(u user) bool { return u.pod == name })
	w.simulate(t)
}

// podOf is the name of the one pod with a label.
func (w *world) podOf(t *testing.T, label string) string {
	t.Helper()
	var name string
	eventually(t, "a pod "+label, func() bool {
		list, err := w.client.CoreV1().Pods(w.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: label})
		if err != nil || len(list.Items) != 1 {
			return false
		}
		name = list.Items[0].Name
		return true
	})
	w.ready(t, name)
	return name
}

// ownerAttributes are the kinds of owners with attributes of their own.
var ownerAttributes = map[string]string{
	"ReplicaSet": "k8s.replicaset", "Deployment": "k8s.deployment", "Job": "k8s.job", "CronJob": "k8s.cronjob",
	"DaemonSet": "k8s.daemonset", "StatefulSet": "k8s.statefulset",
}

// owners walks from a pod to the object at the top, by the API server.
func (w *world) owners(ctx context.Context, pod *corev1.Pod) ([]string, error) {
	var result []string
	top := ""
	references := pod.OwnerReferences
	for len(references) > 0 {
		reference := references[0]
		result = append(result, reference.Kind+"/"+reference.Name+"/"+string(reference.UID))
		top = "top:" + reference.Kind + "/" + reference.Name
		references = nil
		switch reference.Kind {
		case "ReplicaSet":
			object, err := w.client.AppsV1().ReplicaSets(w.namespace).Get(ctx, reference.Name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			references = object.OwnerReferences
		case "Job":
			object, err := w.client.BatchV1().Jobs(w.namespace).Get(ctx, reference.Name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			references = object.OwnerReferences
		}
	}
	if top != "" {
		result = append(result, top)
	}
	slices.Sort(result)
	return result, nil
}
