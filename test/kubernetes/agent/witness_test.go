// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// witness records every message of the collector, also between two steps, with the identities that each message contains. At the end no
// message may contradict the state of the API server at any time.
type witness struct {
	mu       sync.Mutex
	messages []message
	said     map[statement]struct{}

	pods       map[string]string // namespace/name by UID
	containers map[string]string // UID/name by container id
	processes  map[string]string // pod/container by the node's process number; "/" in none
}

// message contains the holders in one message.
type message struct {
	time  time.Time
	holds map[string]bool // pod/container device
}

// statement is the container attributes of a point.
type statement struct {
	namespace, pod, uid, container, id string
	process                            string
}

func watch(t *testing.T, w *world) *witness {
	t.Helper()
	v := &witness{
		said: map[statement]struct{}{}, pods: map[string]string{}, containers: map[string]string{}, processes: map[string]string{},
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			_, _ = w.sink.Next(ctx, func(points harness.Points) bool { v.hear(points); return false })
		}
	})
	running.Go(func() {
		for ctx.Err() == nil {
			v.follow(ctx, w)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		v.judge(t)
	})
	return v
}

// follow learns the pods from the API server.
func (v *witness) follow(ctx context.Context, w *world) {
	stream, err := w.client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			return
		}
		v.mu.Lock()
		v.pods[string(pod.UID)] = pod.Namespace + "/" + pod.Name
		for _, status := range statuses(pod) {
			if _, id, ok := strings.Cut(status.ContainerID, "://"); ok {
				v.containers[id] = string(pod.UID) + "/" + status.Name
			}
		}
		v.mu.Unlock()
	}
}

// process records the container of a process.
func (v *witness) process(number int, pod, container string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.processes[strconv.Itoa(number)] = pod + "/" + container
}

func (v *witness) hear(points harness.Points) {
	if !ofDriver(points) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	m := message{time: time.Now(), holds: map[string]bool{}}
	for i := range points {
		p := &points[i]
		if !strings.HasPrefix(p.Metric, "container.gpu.") && !strings.HasPrefix(p.Metric, "process.gpu.") {
			continue
		}
		r := p.Resource
		v.said[statement{
			namespace: r["k8s.namespace.name"], pod: r["k8s.pod.name"], uid: r["k8s.pod.uid"],
			container: r["k8s.container.name"], id: r["container.id"], process: p.Attributes["process.pid"],
		}] = struct{}{}
		if p.Metric == "container.gpu.allocated" && p.Value == 1 {
			m.holds[r["k8s.pod.name"]+"/"+r["k8s.container.name"]+" "+p.Attributes["hw.id"]] = true
		}
	}
	v.messages = append(v.messages, m)
}

// since are the messages from a moment on.
func (v *witness) since(start time.Time) []message {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.messages {
		if v.messages[i].time.After(start) {
			return append([]message(nil), v.messages[i:]...)
		}
	}
	return nil
}

// judge compares all recorded messages with the true state.
func (v *witness) judge(t *testing.T) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	t.Logf("%d messages, %d statements", len(v.messages), len(v.said))
	for s := range v.said {
		if s.uid != "" {
			pod, known := v.pods[s.uid]
			assert.True(t, known, "no such pod: %+v", s)
			if s.pod != "" {
				assert.Equal(t, pod, s.namespace+"/"+s.pod, "%+v", s)
			}
		}
		if s.id != "" && s.uid != "" {
			containerID, known := v.containers[s.id]
			if assert.True(t, known, "no such container: %+v", s) && s.container != "" {
				assert.Equal(t, containerID, s.uid+"/"+s.container, "%+v", s)
			}
		}
		if containerID, known := v.processes[s.process]; known && (s.pod != "" || containerID == "/") {
			assert.Equal(t, containerID, s.pod+"/"+s.container, "%+v", s)
		}
	}
}
