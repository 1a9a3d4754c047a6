// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"context"
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

// anew is a container of a pod that was made anew under the name of another one.
type anew struct{ who }

func (a anew) uid() string { return "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee" }
func (a anew) id() string  { return hash("anew/"+a.name, 64) }

func (a anew) joined() *gpu.Container {
	return &gpu.Container{Namespace: "ml", PodName: a.pod, Name: a.name, PodUID: a.uid(), ID: a.id()}
}

// recreate has a pod made anew: its log files take the place of those before, which may stay for a while.
func (m *machine) recreate(c anew, keepOld bool) {
	m.t.Helper()
	if !keepOld {
		require.NoError(m.t, os.RemoveAll(m.logs))
	}
	m.logFile(c.who, c.uid(), c.id())
}

// runAnew is a read in which the pod that was made anew runs on the GPU that it holds.
func (m *machine) runAnew(c anew) *gpu.Node {
	node := holdAndRun(m, c.who)
	node.Processes[0].Cgroup = strings.NewReplacer(
		strings.ReplaceAll(c.who.uid(), "-", "_"), strings.ReplaceAll(c.uid(), "-", "_"), c.who.id(), c.id(),
	).Replace(node.Processes[0].Cgroup)
	return node
}

// startAway starts the Attributor while the API server cannot be read.
func (m *machine) startAway() {
	m.t.Helper()
	m.client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden")
	})
	ctx, cancel := context.WithCancel(m.t.Context())
	cancel() // Start waits for the API server, but not in vain for this test
	var err error
	m.attributor, err = New(m.config, interval, WithClients(m.clients))
	require.NoError(m.t, err)
	require.NoError(m.t, m.attributor.Start(ctx))
	m.t.Cleanup(m.stop)
	require.Eventually(m.t, func() bool { return m.attributor.view.Pods.Err() != nil }, 10*time.Second, time.Millisecond)
}

// startThenAway starts the Attributor, and then the API server cannot be read any more.
func (m *machine) startThenAway() {
	m.t.Helper()
	var away atomic.Bool
	var watcher atomic.Pointer[watch.FakeWatcher]
	m.client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return away.Load(), nil, errors.New("unauthorized")
	})
	m.client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
		if away.Load() {
			return true, nil, errors.New("unauthorized")
		}
		w := watch.NewFake()
		watcher.Store(w)
		return true, w, nil
	})
	m.start()
	require.Eventually(m.t, func() bool { return watcher.Load() != nil }, 10*time.Second, time.Millisecond)
	away.Store(true)
	watcher.Load().Stop()
	require.Eventually(m.t, func() bool { return m.attributor.view.Pods.Err() != nil }, 10*time.Second, time.Millisecond)
}

// one returns what the only container of the node has of the first GPU, with the GPU's own readings.
func one(t *testing.T, node *gpu.Node, c *gpu.Container) gpu.ContainerUse {
	t.Helper()
	u := use(t, node, c, uuid(0))
	require.Len(t, node.Containers, 1, "told twice")
	assert.Equal(t, gpu.Some(true), u.Allocated)
	assert.Equal(t, gpu.Some(0.8), general(u))
	return u
}

// A pod is made anew under its name while the API cannot be read: the right one is told, once.
func TestMadeAnewWithoutAPI(t *testing.T) {
	again := anew{train}
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
			u = one(t, m.apply(m.runAnew(again), 10), again.joined())
			assertTotal(t, 0, u.IdleTime)
			for range 3 * keepContainers {
				u = one(t, m.apply(m.runAnew(again), 10), again.joined())
			}
			assertTotal(t, 3*keepContainers*10*(1-0.8), u.IdleTime)
			u = one(t, m.apply(nodeOf(device(0)), 10), again.joined())
			assert.True(t, u.IdleTime.Known(), "known by its log files when it runs nothing")
		})
	}
}

// startThenGone starts the Attributor, and once it has told a pod, the API forgets it.
func (m *machine) startThenGone(c who) {
	m.t.Helper()
	m.start()
	m.apply(holdAndRun(m, c))
	require.NoError(m.t, m.client.CoreV1().Pods("ml").Delete(m.t.Context(), c.pod, metav1.DeleteOptions{}))
	require.Eventually(m.t, func() bool { return m.attributor.view.Pods.ByUID(c.uid()) == nil }, 10*time.Second, time.Millisecond)
}

// The log files of the pod before are still there: the process shows which it is.
func TestMadeAnewByProcess(t *testing.T) {
	again := anew{train}
	m := newMachine(t, nil, podOf(train))
	m.log(train)
	m.startThenAway()
	one(t, m.apply(holdAndRun(m, train)), train.joined())
	m.recreate(again, true)
	one(t, m.apply(m.runAnew(again), 10), again.joined())
}

// The pod that the API showed last had ended; the one of its name that runs now has not.
func TestMadeAnewAfterEnd(t *testing.T) {
	done := podOf(train)
	done.Status.Phase = corev1.PodFailed
	again := anew{train}
	m := newMachine(t, nil, done)
	m.startThenAway()
	m.recreate(again, false)
	one(t, m.apply(m.runAnew(again), 10), again.joined())
}

// Without log files it cannot be told whether the user that has no name is the holder that the API told of: nothing is said of
// what would follow.
func TestMadeAnewUnseen(t *testing.T) {
	m := newMachine(t, nil, podOf(train))
	m.startThenAway()
	one(t, m.apply(holdAndRun(m, train)), train.joined())
	node := m.apply(m.runAnew(anew{train}), 10)
	require.Len(t, node.Containers, 2)
	held := use(t, node, train.joined(), uuid(0))
	assert.False(t, general(held).Known())
	assert.False(t, held.MemoryUsage.Known())
	assert.False(t, held.IdleTime.Known())
	used := use(t, node, &gpu.Container{PodUID: anew{train}.uid(), ID: anew{train}.id()}, uuid(0))
	assert.False(t, used.Allocated.Known())
}

// The kubelet allocates before it makes the folders of the log files.
func TestLogsComeLater(t *testing.T) {
	m := newMachine(t, nil)
	m.startAway()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	one(t, m.apply(nodeOf(device(0))), train.named())
	m.log(train)
	one(t, m.apply(nodeOf(device(0)), 10), train.joined())
}

// A static pod has in its log files' names another UID than in the API: it is not taken for another pod.
func TestStaticPodStale(t *testing.T) {
	static := hash("file", 32)
	pod := mirrorOf(podOf(train), static)
	owned := train.joined()
	owned.Owners = []gpu.Owner{{Kind: "Node", Name: "n1", UID: "n"}}
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
