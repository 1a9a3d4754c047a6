// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// recreated is a container of a recreated pod, which has the name of the pod before.
type recreated struct{ testContainer }

func (a recreated) uid() string { return "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee" }
func (a recreated) id() string  { return hash("recreated/"+a.name, 64) }

func (a recreated) joined() *gpu.Container {
	return &gpu.Container{Namespace: "ml", PodName: a.pod, Name: a.name, PodUID: a.uid(), ID: a.id()}
}

// recreate adds the log files of a recreated pod. The old ones may stay for a while.
func (m *machine) recreate(c recreated, keepOld bool) {
	m.t.Helper()
	if !keepOld {
		require.NoError(m.t, os.RemoveAll(m.logs))
	}
	m.logFile(c.testContainer, c.uid(), c.id())
}

// runRecreated returns a read in which the recreated pod runs on the GPU that it holds.
func (m *machine) runRecreated(c recreated) *gpu.Node {
	node := holdAndRun(m, c.testContainer)
	node.Processes[0].Cgroup = strings.NewReplacer(
		strings.ReplaceAll(c.testContainer.uid(), "-", "_"), strings.ReplaceAll(c.uid(), "-", "_"), c.testContainer.id(), c.id(),
	).Replace(node.Processes[0].Cgroup)
	return node
}

// startAway starts the Attributor while the API server cannot be read.
func (m *machine) startAway() {
	m.t.Helper()
	m.client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden")
	})
	m.startUnread()
}

// startThenAway starts the Attributor before the API server becomes unreadable.
func (m *machine) startThenAway() {
	m.t.Helper()
	var offline atomic.Bool
	var watcher atomic.Pointer[watch.FakeWatcher]
	m.client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return offline.Load(), nil, errors.New("unauthorized")
	})
	m.client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
		if offline.Load() {
			return true, nil, errors.New("unauthorized")
		}
		w := watch.NewFake()
		watcher.Store(w)
		return true, w, nil
	})
	m.start()
	require.Eventually(m.t, func() bool { return watcher.Load() != nil }, time.Minute, time.Millisecond)
	offline.Store(true)
	watcher.Load().Stop()
	require.Eventually(m.t, func() bool { return m.attributor.view.Pods.Err() != nil }, time.Minute, time.Millisecond)
}

// one returns what the node's only container has of the first GPU, with the GPU's own readings.
func one(t *testing.T, node *gpu.Node, c *gpu.Container) gpu.ContainerUse {
	t.Helper()
	u := use(t, node, c, uuid(0))
	require.Len(t, node.Containers, 1, "reported twice")
	assert.Equal(t, gpu.Some(true), u.Allocated)
	assert.Equal(t, gpu.Some(0.8), general(u))
	return u
}

// A pod is recreated while the API cannot be read. The new one is reported, once.
func TestRecreatedWithoutAPI(t *testing.T) {
	again := recreated{train}
	tests := map[string]func(*machine){
		"never read":      (*machine).startAway,
		"read no more":    (*machine).startThenAway,
		"read until gone": func(m *machine) { m.startThenGone(train) },
	}
	for name, start := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, nil, podOf(train))
			m.log(train)
			start(m)
			one(t, m.apply(holdAndRun(m, train)), train.joined())
			u := one(t, m.apply(holdAndRun(m, train), 10), train.joined())
			assertTotal(t, 10*(1-0.8), u.IdleTime)

			m.recreate(again, false)
			u = one(t, m.apply(m.runRecreated(again), 10), again.joined())
			assertTotal(t, 0, u.IdleTime)
			for range 3 * keepContainers {
				u = one(t, m.apply(m.runRecreated(again), 10), again.joined())
			}
			assertTotal(t, 3*keepContainers*10*(1-0.8), u.IdleTime)
			u = one(t, m.apply(nodeOf(device(0)), 10), again.joined())
			assert.True(t, u.IdleTime.Known(), "known by its log files when it runs nothing")
		})
	}
}

// startThenGone starts the Attributor, and deletes the pod from the API after a read.
func (m *machine) startThenGone(c testContainer) {
	m.t.Helper()
	m.start()
	m.apply(holdAndRun(m, c))
	watched(m.t, &m.client.Fake, "pods")
	require.NoError(m.t, m.client.CoreV1().Pods("ml").Delete(m.t.Context(), c.pod, metav1.DeleteOptions{}))
	require.Eventually(m.t, func() bool { return m.attributor.view.Pods.ByUID(c.uid()) == nil }, time.Minute, time.Millisecond)
}

// The log files of the pod before are still there. The process shows which pod it is.
func TestRecreatedByProcess(t *testing.T) {
	again := recreated{train}
	m := newMachine(t, nil, podOf(train))
	m.log(train)
	m.startThenAway()
	one(t, m.apply(holdAndRun(m, train)), train.joined())
	m.recreate(again, true)
	one(t, m.apply(m.runRecreated(again), 10), again.joined())
}

// The last pod in the API had ended, and the one of its name that runs now has not.
func TestRecreatedAfterEnd(t *testing.T) {
	done := podOf(train)
	done.Status.Phase = corev1.PodFailed
	again := recreated{train}
	m := newMachine(t, nil, done)
	m.startThenAway()
	m.recreate(again, false)
	one(t, m.apply(m.runRecreated(again), 10), again.joined())
}

// Without log files it is unknown whether the unnamed user is the holder in the API, so neither usage nor idle time is reported.
func TestRecreatedUnseen(t *testing.T) {
	m := newMachine(t, nil, podOf(train))
	m.startThenAway()
	one(t, m.apply(holdAndRun(m, train)), train.joined())
	node := m.apply(m.runRecreated(recreated{train}), 10)
	require.Len(t, node.Containers, 2)
	usage := use(t, node, train.joined(), uuid(0))
	assert.False(t, general(usage).Known())
	assert.False(t, usage.MemoryUsage.Known())
	assert.False(t, usage.IdleTime.Known())
	used := use(t, node, &gpu.Container{PodUID: recreated{train}.uid(), ID: recreated{train}.id()}, uuid(0))
	assert.False(t, used.Allocated.Known())
}

// The kubelet allocates before it makes the directories of the log files.
func TestLogsComeLater(t *testing.T) {
	m := newMachine(t, nil)
	m.startAway()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	one(t, m.apply(nodeOf(device(0))), train.named())
	m.log(train)
	one(t, m.apply(nodeOf(device(0)), 10), train.joined())
}

// A static pod has another UID in its log files' names than in the API. It is not another pod.
func TestStaticPodStale(t *testing.T) {
	static := hash("file", 32)
	pod := mirrorOf(podOf(train), static)
	owned := train.joined()
	owned.Owners = []gpu.Owner{{APIVersion: "v1", Kind: "Node", Name: "n1", UID: "n"}}
	for name, start := range map[string]func(*machine){
		"read no more":    (*machine).startThenAway,
		"read until gone": func(m *machine) { m.startThenGone(train) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, nil, pod)
			m.logFile(train, static, train.id())
			start(m)
			m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
			for range 2 {
				one(t, m.apply(nodeOf(device(0)), 10), owned)
			}
		})
	}
}
