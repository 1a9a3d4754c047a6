// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// holdAndRun allocates the first GPU to a container that runs a process on it.
func holdAndRun(m *machine, c testContainer) *gpu.Node {
	m.kubelet.Set(kubelettest.Pod(c.pod, kubelettest.Container(c.name, resource, uuid(0))))
	node := nodeOf(device(0))
	run(node, 10, uuid(0), c, 4e9, 0.3)
	return node
}

// Without the API, the names of the log files join holders and users.
func TestJoinByLogs(t *testing.T) {
	m := newMachine(t, noAPI)
	m.log(train)
	m.start()
	node := m.apply(holdAndRun(m, train))
	require.Empty(t, node.Problems)
	require.Len(t, node.Containers, 1)
	u := use(t, node, train.joined(), uuid(0))
	assert.Equal(t, gpu.Some(true), u.Allocated)
	assert.Equal(t, gpu.Some(0.8), general(u))

	// A holder that runs nothing has its UID and id from the logs, too.
	node = m.apply(nodeOf(device(0)), 10)
	use(t, node, train.joined(), uuid(0))
}

// Without the containers' log files, the container of a process stays unnamed.
func TestJoinByPodLogsAlone(t *testing.T) {
	m := newMachine(t, noAPI)
	m.log(train)
	m.start()
	m.attributor.containers.logs = nil
	node := m.apply(holdAndRun(m, train))
	require.Len(t, node.Containers, 2)
}

// Without API and logs, a holder and a user remain two containers. The holder has neither the GPU's readings nor idle time.
func TestNotJoined(t *testing.T) {
	m := newMachine(t, noAPI).start()
	node := m.apply(holdAndRun(m, train))
	require.Len(t, node.Containers, 2)
	usage := use(t, node, train.named(), uuid(0))
	assert.Equal(t, gpu.Some(true), usage.Allocated)
	assert.False(t, general(usage).Known())
	assert.False(t, usage.MemoryUsage.Known())
	assert.False(t, usage.IdleTime.Known())
	assert.False(t, usage.Power.Known())
	assert.False(t, usage.Energy.Known())

	used := use(t, node, train.used(), uuid(0))
	assert.False(t, used.Allocated.Known(), "it may be the holder")
	inDelta(t, 0.3, general(used))
	assert.Equal(t, gpu.Some(int64(4e9)), used.MemoryUsage)

	node = m.apply(nodeOf(device(0)), 10)
	usage = use(t, node, train.named(), uuid(0))
	assert.Equal(t, gpu.Some(0.8), general(usage), "nobody uses the GPU")
}

// A user that is known to be in another pod is not the holder.
func TestNotJoinedButApart(t *testing.T) {
	m := newMachine(t, noAPI)
	m.log(infer)
	m.start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	node := nodeOf(device(0))
	run(node, 10, uuid(0), infer, 4e9, 0.3)
	m.apply(node)
	usage := use(t, node, train.named(), uuid(0))
	inDelta(t, 0, general(usage))
	assert.Equal(t, gpu.Some(false), use(t, node, infer.joined(), uuid(0)).Allocated)
}

// A restarted container runs as a new instance, which the API lists a little later. Until then a pod with two containers does not show
// which of them it is.
func TestContainerRestart(t *testing.T) {
	m := newMachine(t, nil, podOf(train, helper)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	again := func() *gpu.Node {
		node := nodeOf(device(0))
		run(node, 11, uuid(0), train, 4e9, 0.3)
		node.Processes[0].Cgroup = "0::/kubepods/pod" + train.uid() + "/" + hash("new", 64) + "\n"
		return node
	}
	node := m.apply(again(), 10)
	require.Len(t, node.Containers, 2)
	assert.False(t, general(use(t, node, train.joined(), uuid(0))).Known())
	assert.Equal(t, "train-0", node.Processes[0].Container.PodName, "the pod is known all the same")

	pod := podOf(train, helper)
	pod.Status.ContainerStatuses[0].ContainerID = "containerd://" + hash("new", 64)
	_, err := m.client.CoreV1().Pods("ml").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(m.apply(again(), 10).Containers) == 1 }, time.Minute, time.Millisecond)
	want := train.joined()
	want.ID = hash("new", 64)
	assert.Equal(t, gpu.Some(0.8), general(use(t, m.apply(again(), 10), want, uuid(0))))
}

// Pods come and go, and each read has the correct pod.
func TestPodsComeAndGo(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	holds := func(c testContainer) *gpu.Node { return m.apply(holdAndRun(m, c), 10) }
	use(t, holds(train), train.joined(), uuid(0))

	watched(t, &m.client.Fake, "pods")
	require.NoError(t, m.client.CoreV1().Pods("ml").Delete(t.Context(), train.pod, metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { return m.attributor.view.Pods.ByUID(train.uid()) == nil }, time.Minute, time.Millisecond)
	u := use(t, holds(train), train.joined(), uuid(0))
	assert.Equal(t, gpu.Some(0.8), general(u), "its process still runs and its GPU is still held")

	_, err := m.client.CoreV1().Pods("ml").Create(t.Context(), podOf(infer), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return m.attributor.view.Pods.ByUID(infer.uid()) != nil }, time.Minute, time.Millisecond)
	node := holds(infer)
	require.Len(t, node.Containers, 1)
	u = use(t, node, infer.joined(), uuid(0))
	assertTotal(t, 0, u.IdleTime)

	for range 3 * keepContainers {
		holds(infer)
	}
	assert.Len(t, m.attributor.containers.known, 1, "who is gone is forgotten")
	assert.Len(t, m.attributor.containers.users, 1)
	assert.Len(t, m.attributor.containers.holders, 1)
	assert.Len(t, m.attributor.histories[gpu.NVIDIA].accounting.totals.containers, 1)
}

// The last known pods count while the API server does not answer, from the start or later.
func TestAPIAway(t *testing.T) {
	m := newMachine(t, nil, podOf(train))
	offline := true
	m.client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return offline, nil, errors.New("connection refused")
	})
	m.startUnread() // no error: it may come
	node := m.apply(holdAndRun(m, train))
	require.Len(t, node.Problems, 1)
	assert.Equal(t, "pods", node.Problems[0].What)
	assert.Len(t, node.Containers, 2)
}

// Kubelets before 1.34 list pods that have ended.
func TestEndedPod(t *testing.T) {
	done := podOf(train)
	done.Status.Phase = corev1.PodSucceeded
	m := newMachine(t, nil, done, podOf(infer)).start()
	m.kubelet.Set(
		kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))),
		kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, resource, uuid(0))))
	node := m.apply(nodeOf(device(0)))
	require.Len(t, node.Containers, 1)
	assert.Equal(t, gpu.Some(0.8), general(use(t, node, infer.joined(), uuid(0))))
}

// A static pod has another UID in its control group than in the API.
func TestStaticPod(t *testing.T) {
	static := hash("file", 32)
	m := newMachine(t, nil, mirrorOf(podOf(train), static)).start()
	node := holdAndRun(m, train)
	node.Processes[0].Cgroup = "0::/kubepods/burstable/pod" + static + "/" + train.id() + "\n"
	m.apply(node)
	require.Len(t, node.Containers, 1)
	want := train.joined()
	want.Owners = []gpu.Owner{{APIVersion: "v1", Kind: "Node", Name: "n1", UID: "n"}}
	use(t, node, want, uuid(0))
}

// Only the pods of the node are requested from the API.
func TestOnlyTheNodesPods(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	requests := 0
	for _, action := range m.client.Actions() {
		if list, ok := action.(clienttesting.ListAction); ok && action.GetResource().Resource == "pods" {
			requests++
			assert.Contains(t, list.GetListRestrictions().Fields.String(), "spec.nodeName=n1")
		}
	}
	assert.Positive(t, requests)
}

// Containers that differ in one name or ID are two.
func TestIdentity(t *testing.T) {
	c := newContainers(nil, nil)
	first := gpu.Container{Namespace: "ml", PodName: "p", PodUID: "u", Name: "main", ID: "c", SystemdUnit: "s", SlurmJob: "1"}
	same := first
	assert.Same(t, c.intern(&first), c.intern(&same))
	for name, change := range map[string]func(*gpu.Container){
		"namespace": func(o *gpu.Container) { o.Namespace = "other" },
		"pod":       func(o *gpu.Container) { o.PodName = "other" },
		"UID":       func(o *gpu.Container) { o.PodUID = "other" },
		"name":      func(o *gpu.Container) { o.Name = "other" },
		"id":        func(o *gpu.Container) { o.ID = "other" },
		"unit":      func(o *gpu.Container) { o.SystemdUnit = "other" },
		"job":       func(o *gpu.Container) { o.SlurmJob = "other" },
	} {
		second := first
		change(&second)
		assert.NotSame(t, c.intern(&first), c.intern(&second), name)
	}
}

// A path that is relative to the collector's own control group may have only the container's ID.
func TestOwnPod(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	node := holdAndRun(m, train)
	node.Processes[0].Cgroup = "0::/../cri-containerd-" + train.id() + ".scope\n"
	m.apply(node)
	require.Len(t, node.Containers, 1)
	use(t, node, train.joined(), uuid(0))
}

func TestOwnersAndLabels(t *testing.T) {
	pod := podOf(train)
	yes := true
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "kubeflow.org/v1", Kind: "PyTorchJob", Name: "train", UID: "u", Controller: &yes}}
	pod.Labels = map[string]string{"team": "vision"}
	m := newMachine(t, func(c *Config) { c.Owners.Labels = []string{"team"} }, pod).start()
	want := train.joined()
	want.Owners = []gpu.Owner{{APIVersion: "kubeflow.org/v1", Kind: "PyTorchJob", Name: "train", UID: "u"}}
	want.Labels = map[string]string{"k8s.pod.label.team": "vision"}
	node := m.apply(holdAndRun(m, train))
	use(t, node, want, uuid(0))
	first := node.Processes[0].Container
	assert.Equal(t, want, first)
	assert.Same(t, first, m.apply(holdAndRun(m, train), 10).Processes[0].Container, "one object as long as nothing changes")

	pod.Labels["team"] = "speech"
	_, err := m.client.CoreV1().Pods("ml").Update(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		node := m.apply(holdAndRun(m, train), 10)
		return node.Processes[0].Container.Labels["k8s.pod.label.team"] == "speech"
	}, time.Minute, time.Millisecond)
	assert.Equal(t, "vision", first.Labels["k8s.pod.label.team"], "what was handed out is never changed")
}

// A container stays one, alone on its GPU, when one of its processes has ended and its pod gets new labels.
func TestProcessGoneWhileRenamed(t *testing.T) {
	m := newMachine(t, func(c *Config) { c.Owners.Labels = []string{"team"} }, podOf(train)).start()
	read := func(ended bool, joules float64) *gpu.Node {
		node := holdAndRun(m, train)
		run(node, 11, uuid(0), train, 1e9, 0.1)
		if p := &node.Processes[0]; ended {
			p.Created, p.Cgroup = time.Time{}, ""
		}
		node.Devices[0].Energy = gpu.Total(joules)
		return m.apply(node, 10)
	}
	read(false, 1000)
	assertTotal(t, 1000, use(t, read(false, 2000), train.joined(), uuid(0)).Energy)

	pod := podOf(train)
	pod.Labels = map[string]string{"team": "speech"}
	_, err := m.client.CoreV1().Pods("ml").Update(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return m.attributor.view.Pods.ByUID(train.uid()).Attributes != nil
	}, time.Minute, time.Millisecond)
	node := read(true, 3000)
	require.Len(t, node.Containers, 1)
	want := train.joined()
	want.Labels = map[string]string{"k8s.pod.label.team": "speech"}
	u := use(t, node, want, uuid(0))
	assert.Equal(t, gpu.Some(400.0), u.Power)
	assertTotal(t, 2000, u.Energy)
}

// A pod that is annotated with another pod's UID does not get the other pod's usage.
func TestPodClaimsAnother(t *testing.T) {
	evil := mirrorOf(podOf(infer), train.uid())
	evil.Namespace = "evil"
	m := newMachine(t, nil, podOf(train), evil).start()
	for range 50 {
		node := m.apply(holdAndRun(m, train), 10)
		require.Len(t, node.Containers, 1)
		use(t, node, train.joined(), uuid(0))
	}
}

// The log files name a container that the API lists without names or does not list yet, and its pod.
func TestNameFromLogs(t *testing.T) {
	m := newMachine(t, noAPI)
	m.log(train)
	m.start()
	c := m.attributor.containers
	for name, tt := range map[string]struct{ known, want gpu.Container }{
		"ID":           {gpu.Container{ID: train.id()}, *train.joined()},
		"ID and UID":   {gpu.Container{ID: train.id(), PodUID: train.uid()}, *train.joined()},
		"ID and names": {gpu.Container{ID: train.id(), Namespace: "ml", PodName: train.pod, PodUID: "u"}, gpu.Container{ID: train.id(), Namespace: "ml", PodName: train.pod, PodUID: "u", Name: train.name}},
		"UID":          {gpu.Container{ID: "x", PodUID: train.uid()}, gpu.Container{ID: "x", PodUID: train.uid(), Namespace: "ml", PodName: train.pod}},
		"unknown":      {gpu.Container{ID: "x", PodUID: "y"}, gpu.Container{ID: "x", PodUID: "y"}},
	} {
		c.nameFromLogs(&tt.known)
		assert.Equal(t, tt.want, tt.known, name)
	}
}

// Unreadable directories of log files are reported.
func TestLogsUnreadable(t *testing.T) {
	m := newMachine(t, noAPI)
	m.file(filepath.Dir(m.logs), filepath.Base(m.logs), "a file")
	m.start()
	node := m.apply(holdAndRun(m, train))
	require.Len(t, node.Problems, 1)
	assert.Equal(t, "container logs", node.Problems[0].What)
}
