// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// patience is the limit on a busy machine for operations that normally take a second or two.
const patience = 3 * time.Minute

// ReadyPod waits until a namespace has exactly one pod that a label selector selects, and that one is ready.
func (c *Cluster) ReadyPod(t testing.TB, namespace, selector string) *corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var pod *corev1.Pod
	err := Poll(ctx, func() error {
		list, err := c.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		if len(list.Items) != 1 {
			return fmt.Errorf("%d pods with %s", len(list.Items), selector)
		}
		pod = &list.Items[0]
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil {
				return nil
			}
		}
		return fmt.Errorf("pod %s is not ready: %s %+v", pod.Name, pod.Status.Phase, pod.Status.ContainerStatuses)
	})
	if err != nil {
		t.Fatalf("namespace %s: %v\n%s", namespace, err, c.Events(namespace))
	}
	return pod
}

// Events returns the last events of a namespace, for failure messages.
func (c *Cluster) Events(namespace string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	list, err := c.Client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{Limit: 50})
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for i := range list.Items {
		e := &list.Items[i]
		fmt.Fprintf(&b, "%s %s/%s: %s\n", e.Type, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message)
	}
	return b.String()
}

// Token returns a token of a service account. A token that is bound to a pod or a secret expires when that object is deleted.
func (c *Cluster) Token(t testing.TB, namespace, account string, bound *authenticationv1.BoundObjectReference) string {
	t.Helper()
	seconds := int64(3600)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds, BoundObjectRef: bound}}
	answer, err := c.Client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

// ContainerPID is the machine's PID of a container's first process.
func (c *Cluster) ContainerPID(t testing.TB, pod *corev1.Pod, container string) int {
	t.Helper()
	for _, status := range pod.Status.ContainerStatuses {
		_, id, _ := strings.Cut(status.ContainerID, "://")
		if status.Name != container || id == "" {
			continue
		}
		output, err := c.Containerd(t.Context(), "tasks", "list")
		if err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		for line := range strings.Lines(string(output)) {
			var task string
			var pid int
			if n, _ := fmt.Sscan(line, &task, &pid); n == 2 && task == id {
				return pid
			}
		}
	}
	t.Fatalf("container %s of pod %s/%s does not run", container, pod.Namespace, pod.Name)
	return 0
}

// ProcessesIn returns the command lines of the processes in a container, by the machine's PIDs.
func ProcessesIn(containerID string) (map[string]string, error) {
	_, id, _ := strings.Cut(containerID, "://")
	if id == "" {
		return nil, errors.New("no container")
	}
	directories, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	result := make(map[string]string)
	for _, directory := range directories {
		group, err := os.ReadFile(filepath.Join(directory, "cgroup"))
		if err != nil || !strings.Contains(string(group), id) {
			continue
		}
		if line, err := os.ReadFile(filepath.Join(directory, "cmdline")); err == nil {
			result[filepath.Base(directory)] = strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return result, nil
}
