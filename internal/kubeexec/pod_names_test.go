// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

// firstReads holds the names of the pods in the first read of each node, empty if there were none.
type firstReads struct {
	mu   sync.Mutex
	pods map[string]string
}

func (f *firstReads) sink(_ context.Context, _ string, node *gpu.Node, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.pods[node.Host.NodeName]; ok || err != nil {
		return
	}
	f.pods[node.Host.NodeName] = ""
	if len(node.Processes) > 0 && node.Processes[0].Container != nil {
		f.pods[node.Host.NodeName] = node.Processes[0].Container.PodName
	}
}

func (f *firstReads) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.pods)
}

// readFirst starts a fleet whose API server delays the list of all pods.
func readFirst(t *testing.T, nodes []string, interval time.Duration) (f *Fleet, reads *firstReads, answer func()) {
	t.Helper()
	s := exectest.NewServer(t)
	block := make(chan struct{})
	answer = sync.OnceFunc(func() { close(block) })
	t.Cleanup(answer)
	s.Held = map[string]chan struct{}{"/api/v1/pods": block}
	s.Put(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "train-0", UID: podUID},
		Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "main", ContainerID: "containerd://" + containerID}}},
	})
	for _, node := range nodes {
		s.Add(node, &exectest.Machine{UUID: "GPU-1", Processes: []string{"41, GPU-1, 400 MiB, python3\n"}, Table: map[int64]string{41: ofPod}})
	}
	reads = &firstReads{pods: map[string]string{}}
	f = startFleet(t, configOf(clusterOf(s, "prod")), Options{Interval: interval, Timeout: time.Minute, Want: gpu.GroupAll, Sink: reads.sink})
	return f, reads, answer
}

// Listing the pods of a large cluster takes seconds. Reads before that would report containers without names, and a moment later the same
// containers with different attributes.
func TestFleetNamesFromTheStart(t *testing.T) {
	const interval = 10 * time.Minute
	now := time.Now()
	var nodes []string // due in the next minute
	for i := 0; len(nodes) < 30; i++ {
		node := fmt.Sprintf("n%d", i)
		if newSlots(interval, "prod", node).next(now).Sub(now) < time.Minute {
			nodes = append(nodes, node)
		}
	}
	f, reads, answer := readFirst(t, nodes, interval)
	var readTime time.Time
	eventually(t, func() bool { // until a node is due
		running := running(f.clusters[0])
		if len(running) > 0 && readTime.IsZero() {
			readTime = time.Now()
		}
		for _, n := range running {
			if n.slots.next(readTime).Before(time.Now()) {
				return true
			}
		}
		return false
	}, "no node is due")
	assert.Zero(t, reads.count())
	answer()
	eventually(t, func() bool { return reads.count() > 0 }, "no reads")
	reads.mu.Lock()
	defer reads.mu.Unlock()
	for node, pod := range reads.pods {
		assert.Equal(t, "train-0", pod, node)
	}
}

// The wait for names lasts no longer than one interval.
func TestFleetWithoutNames(t *testing.T) {
	_, reads, _ := readFirst(t, []string{"n1", "n2"}, 500*time.Millisecond)
	eventually(t, func() bool { return reads.count() == 2 }, "no reads")
	reads.mu.Lock()
	defer reads.mu.Unlock()
	for node, pod := range reads.pods {
		assert.Empty(t, pod, node)
	}
}
