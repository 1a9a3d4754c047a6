// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/otelgpu/gpureceiver/internal/kube"
)

// driverPod is the part of a selected pod that is kept. It is immutable once it is stored.
type driverPod struct {
	metav1.ObjectMeta // name, namespace, UID and resource version
	node              string
	phase             corev1.PodPhase
	ready             bool
	deleted           bool
	hostPID           bool
	created           time.Time
	containers        []container
}

type container struct {
	name    string
	id      string // of the running instance
	running bool
}

// newDriverPods prepares the informer of a target's pods.
func newDriverPods(client kubernetes.Interface, t *TargetConfig) (*kube.Informer, error) {
	shared := kube.Paged(client.CoreV1().Pods(t.Namespace), &corev1.Pod{}, cache.Indexers{}, func(list *metav1.ListOptions) {
		list.LabelSelector = t.LabelSelector
	})
	return kube.NewInformer(shared, fmt.Sprintf("pods with %s in namespace %s", t.LabelSelector, t.Namespace), storeDriverPod)
}

func storeDriverPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	stored := &driverPod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		},
		node:    pod.Spec.NodeName,
		phase:   pod.Status.Phase,
		deleted: pod.DeletionTimestamp != nil,
		hostPID: pod.Spec.HostPID,
		created: pod.CreationTimestamp.Time,
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			stored.ready = c.Status == corev1.ConditionTrue
		}
	}
	for i := range pod.Spec.Containers {
		c := container{name: pod.Spec.Containers[i].Name}
		for j := range pod.Status.ContainerStatuses {
			if s := &pod.Status.ContainerStatuses[j]; s.Name == c.name && s.State.Running != nil {
				c.id, c.running = s.ContainerID, true
			}
		}
		stored.containers = append(stored.containers, c)
	}
	return stored, nil
}

// readable returns the container with a name, or why no command can be run in it.
func (p *driverPod) readable(name string) (*container, error) {
	i := slices.IndexFunc(p.containers, func(c container) bool { return c.name == name })
	switch {
	case i < 0:
		names := make([]string, 0, len(p.containers))
		for _, c := range p.containers {
			names = append(names, c.name)
		}
		return nil, fmt.Errorf("pod %s/%s has no container %s, only %s: correct the container of the target",
			p.Namespace, p.Name, name, strings.Join(names, ", "))
	case p.deleted:
		return nil, fmt.Errorf("pod %s/%s is being deleted", p.Namespace, p.Name)
	case p.phase != corev1.PodRunning:
		return nil, fmt.Errorf("pod %s/%s is %s", p.Namespace, p.Name, p.phase)
	case !p.containers[i].running:
		return nil, fmt.Errorf("container %s of pod %s/%s is not running", name, p.Namespace, p.Name)
	case !p.ready:
		return nil, fmt.Errorf("pod %s/%s is not ready", p.Namespace, p.Name)
	}
	return &p.containers[i], nil
}
