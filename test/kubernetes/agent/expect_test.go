// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// knowledge is the source from which the collector can get names.
type knowledge int

const (
	fromAPI knowledge = iota
	fromLogs
)

// hold is the expectation for one container on one device.
type hold struct {
	device    string
	resource  string // empty: it does not hold the device
	allocator string
	sharing   string
}

func holdsOf(resource string, devices ...string) []hold {
	var all []hold
	for _, device := range devices {
		all = append(all, hold{device, resource, "device_plugin", "exclusive"})
	}
	return all
}

func claimed(devices ...string) []hold {
	var all []hold
	for _, device := range devices {
		all = append(all, hold{device, driverName, "dra", "exclusive"})
	}
	return all
}

// shared is the way in which the devices are shared.
func shared(how string, all []hold) []hold {
	for i := range all {
		all[i].sharing = how
	}
	return all
}

// picture is the expected view of all containers and processes, in order, with one line for each of them and each device.
type picture []string

func (p picture) String() string { return strings.Join(p, "\n") }

// expected returns the picture of the state that the test created, with UIDs, ids and owners from the API server, and the processes'
// memory.
func (w *world) expected(ctx context.Context) (picture, error) {
	var lines picture
	pods := map[string]*corev1.Pod{}
	get := func(name string) (*corev1.Pod, error) {
		if pods[name] == nil {
			pod, err := w.client.CoreV1().Pods(w.namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			pods[name] = pod
		}
		return pods[name], nil
	}
	for key, holds := range w.want {
		name, container, _ := strings.Cut(key, "/")
		pod, err := get(name)
		if err != nil {
			return nil, err
		}
		for _, h := range holds {
			how := "held=0"
			if h.resource != "" {
				how = fmt.Sprintf("held=1 %s %s %s", h.resource, h.allocator, h.sharing)
			}
			used := int64(0)
			for _, u := range w.users {
				if u.pod == name && u.container == container && u.device == h.device {
					used += u.memory
				}
			}
			holder, err := w.describe(ctx, pod, container)
			if err != nil {
				return nil, err
			}
			lines = append(lines, fmt.Sprintf("%s: %s %s memory=%d", holder, h.device, how, used))
		}
	}
	for _, u := range w.users {
		holder := "none"
		if u.pod != "" {
			pod, err := get(u.pod)
			if err == nil {
				holder, err = w.describe(ctx, pod, u.container)
			}
			if err != nil {
				return nil, err
			}
		}
		lines = append(lines, fmt.Sprintf("process %d: %s %s memory=%d", u.pid, holder, u.device, u.memory))
	}
	slices.Sort(lines)
	return lines, nil
}

// describe returns all known attributes of a container.
func (w *world) describe(ctx context.Context, pod *corev1.Pod, container string) (string, error) {
	id := ""
	for _, status := range statuses(pod) {
		if status.Name == container {
			_, id, _ = strings.Cut(status.ContainerID, "://")
		}
	}
	var owners []string
	if w.names == fromAPI {
		var err error
		if owners, err = w.owners(ctx, pod); err != nil {
			return "", err
		}
	}
	return whoIs(pod.Namespace, pod.Name, string(pod.UID), container, id, owners), nil
}

// statuses returns the statuses of a pod's containers, including sidecars.
func statuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

func whoIs(namespace, pod, uid, container, id string, owners []string) string {
	return fmt.Sprintf("%s/%s/%s uid=%s id=%s owners=%v", namespace, pod, container, uid, id, owners)
}

// pictureOf returns the picture that the collector has sent.
func pictureOf(points harness.Points) picture {
	var lines picture
	for _, p := range points.Select("container.gpu.allocated") {
		how := "held=0"
		if p.Value != 0 {
			how = fmt.Sprintf("held=%g %s %s %s", p.Value, p.Attributes["k8s.resource.name"], p.Attributes["hw.gpu.allocator"],
				p.Attributes["hw.gpu.sharing"])
		}
		memory, ok := points.Value("container.gpu.memory.usage", same(&p)...)
		if !ok {
			memory = -1
		}
		lines = append(lines, fmt.Sprintf("%s: %s %s memory=%.0f", resourceOf(&p), p.Attributes["hw.id"], how, memory))
	}
	for _, p := range points.Select("process.gpu.memory.usage") {
		holder := "none"
		if p.Resource["k8s.pod.name"]+p.Resource["k8s.pod.uid"]+p.Resource["container.id"] != "" {
			holder = resourceOf(&p)
		}
		lines = append(lines, fmt.Sprintf("process %s: %s %s memory=%.0f", p.Attributes["process.pid"], holder, p.Attributes["hw.id"], p.Value))
	}
	slices.Sort(lines)
	return lines
}

// same are the attributes that identify a container's points on one device.
func same(p *harness.Point) []string {
	var pairs []string
	for _, name := range []string{"hw.id", "container.id", "k8s.namespace.name", "k8s.pod.name", "k8s.container.name"} {
		if value, ok := p.Attributes[name]; ok {
			pairs = append(pairs, name, value)
		}
	}
	return pairs
}

// resourceOf returns the container of a point, from its resource.
func resourceOf(p *harness.Point) string {
	var owners []string
	for kind, attribute := range ownerAttributes {
		if name, ok := p.Resource[attribute+".name"]; ok {
			owners = append(owners, kind+"/"+name+"/"+p.Resource[attribute+".uid"])
		}
	}
	if name, ok := p.Resource["k8s.workload.name"]; ok {
		owners = append(owners, "top:"+p.Resource["k8s.workload.kind"]+"/"+name)
	}
	slices.Sort(owners)
	return whoIs(p.Resource["k8s.namespace.name"], p.Resource["k8s.pod.name"], p.Resource["k8s.pod.uid"],
		p.Resource["k8s.container.name"], p.Resource["container.id"], owners)
}

// expect waits until the collector sends exactly the expected picture, and requires that the kubelet agrees.
func (w *world) expect(t *testing.T) harness.Points {
	t.Helper()
	points := w.await(t)
	var holds []string
	for _, p := range points.Select("container.gpu.allocated") {
		if p.Value == 1 {
			holds = append(holds, strings.Join([]string{
				p.Attributes["k8s.namespace.name"], p.Attributes["k8s.pod.name"], p.Attributes["k8s.container.name"],
				p.Attributes["k8s.resource.name"], p.Attributes["hw.id"],
			}, " "))
		}
	}
	slices.Sort(holds)
	for start := time.Now(); !slices.Equal(w.kubelet.holds(t), holds) && time.Since(start) < patience; { // it learns them one by one
		time.Sleep(50 * time.Millisecond)
	}
	assert.Equal(t, w.kubelet.holds(t), holds, "what the kubelet says itself")
	return points
}

// next returns the first message from now on that the function accepts.
func (w *world) next(t *testing.T, accept func(harness.Points) bool) harness.Points {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	points, err := w.sink.Next(ctx, accept)
	require.NoError(t, err, "%s", w.output())
	return points
}

// ofDriver reports whether a message comes from the simulated driver's scraper. Another vendor's scraper sends separate messages.
func ofDriver(points harness.Points) bool { return len(points.Select("hw.power")) > 0 }

// await waits until the collector sends exactly the expected picture.
func (w *world) await(t *testing.T) harness.Points {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var want, got picture
	var wrong error
	points, err := w.sink.Next(ctx, func(points harness.Points) bool {
		if !ofDriver(points) {
			return false
		}
		want, wrong = w.expected(ctx)
		got = pictureOf(points)
		return wrong == nil && slices.Equal(want, got)
	})
	if err != nil {
		require.NoError(t, wrong)
		require.Equal(t, want.String(), got.String(), "%s", w.output())
		require.NoError(t, err)
	}
	w.requireDevices(t, points)
	return points
}

// output returns the collector's output if it is not a pod.
func (w *world) output() string {
	if w.collector == nil {
		return "the collector's log is its pod's"
	}
	return w.collector.Output()
}

// requireDevices requires that a GPU or partition is reported as held if and only if a container holds it.
func (w *world) requireDevices(t *testing.T, points harness.Points) {
	t.Helper()
	holders := map[string]bool{}
	for _, holds := range w.want {
		for _, h := range holds {
			if h.resource == "" {
				continue
			}
			holders[h.device] = true
			if h.device == mig(0) || h.device == mig(1) {
				holders[gpu(migGPU)] = true
			}
		}
	}
	devices := points.Select("hw.gpu.allocated")
	require.Len(t, devices, gpus+2)
	for _, p := range devices {
		assert.Equal(t, holders[p.Attributes["hw.id"]], p.Value == 1, "hw.gpu.allocated of %s", p.Attributes["hw.id"])
	}
}
