// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"context"
	"errors"
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

// hold has the kubelet give a container the first GPU, on which it runs a process.
func holdAndRun(m *machine, c who) *gpu.Node {
	m.kubelet.Set(kubelettest.Pod(c.pod, kubelettest.Container(c.name, resource, uuid(0))))
	node := nodeOf(device(0))
	run(node, 10, uuid(0), c, 4e9, 0.3)
	return node
}

// Without the API, the names of the log files join what is held and what is used.
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

// Only the pods' folder is mounted: pods are told, their containers are not.
func TestJoinByPodLogsAlone(t *testing.T) {
	m := newMachine(t, noAPI)
	m.log(train)
	m.start()
	m.attributor.containers.logs = nil
	node := m.apply(holdAndRun(m, train))
	require.Len(t, node.Containers, 2)
}

// Where neither API nor logs may be read, what is held and what is used stay two: the holder has neither the GPU's
// readings nor idle time.
func TestNotJoined(t *testing.T) {
	m := newMachine(t, noAPI).start()
	node := m.apply(holdAndRun(m, train))
	require.Len(t, node.Containers, 2)
	held := use(t, node, train.named(), uuid(0))
	assert.Equal(t, gpu.Some(true), held.Allocated)
	assert.False(t, general(held).Known())
	assert.False(t, held.MemoryUsage.Known())
	assert.False(t, held.IdleTime.Known())
	assert.False(t, held.Power.Known())
	assert.False(t, held.Energy.Known())

	used := use(t, node, train.used(), uuid(0))
	assert.False(t, used.Allocated.Known(), "it may be the holder")
	inDelta(t, 0.3, general(used))
	assert.Equal(t, gpu.Some(int64(4e9)), used.MemoryUsage)

	node = m.apply(nodeOf(device(0)), 10)
	held = use(t, node, train.named(), uuid(0))
	assert.Equal(t, gpu.Some(0.8), general(held), "nobody uses the GPU: there is no doubt")
}

// A user that is known to be in another pod is not taken for the holder.
func TestNotJoinedButApart(t *testing.T) {
	m := newMachine(t, noAPI)
	m.log(infer)
	m.start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	node := nodeOf(device(0))
	run(node, 10, uuid(0), infer, 4e9, 0.3)
	m.apply(node)
	held := use(t, node, train.named(), uuid(0))
	inDelta(t, 0, general(held))
	assert.Equal(t, gpu.Some(false), use(t, node, infer.joined(), uuid(0)).Allocated)
}

func TestMayBe(t *testing.T) {
	holder := func(change func(*gpu.Container)) *gpu.Container {
		c := train.joined()
		change(c)
		return c
	}
	names := holder(func(c *gpu.Container) { c.PodUID, c.ID = "", "" })
	noID := holder(func(c *gpu.Container) { c.ID = "" })
	tests := []struct {
		name         string
		holder, user *gpu.Container
		want         bool
	}{
		{"nothing to compare", names, train.used(), true},
		{"same pod, another id: the API is late", train.joined(), &gpu.Container{PodUID: train.uid(), ID: "x"}, true},
		{"another pod by UID", noID, infer.used(), false},
		{"another pod by name", names, infer.joined(), false},
		{"another container of the pod", names, helper.joined(), false},
		{"the pod by name, the container unknown", names, &gpu.Container{Namespace: "ml", PodName: train.pod, ID: "x"}, true},
		{"the same names in another namespace", names, &gpu.Container{Namespace: "other", PodName: train.pod, Name: train.name}, false},
		{"the pod was made anew", train.joined(), &gpu.Container{Namespace: "ml", PodName: train.pod, Name: train.name, PodUID: "old"}, false},
		{"ids alone", train.joined(), &gpu.Container{ID: "x"}, false},
		{"id alone", names, &gpu.Container{ID: "x"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, mayBe(tt.holder, tt.user))
		})
	}
}

// A holder is found among those who use a device by its id, or by all of its names.
func TestSame(t *testing.T) {
	named := func(change func(*gpu.Container)) *gpu.Container {
		c := train.joined()
		c.ID = ""
		change(c)
		return c
	}
	tests := []struct {
		name         string
		holder, user *gpu.Container
		want         bool
	}{
		{"id", &gpu.Container{ID: "x"}, &gpu.Container{ID: "x", PodName: "p"}, true},
		{"names", train.named(), train.joined(), true},
		{"names, and the UID of one", train.named(), named(func(*gpu.Container) {}), true},
		{"another namespace", named(func(c *gpu.Container) { c.Namespace, c.PodUID = "other", "" }), train.joined(), false},
		{"another pod", named(func(c *gpu.Container) { c.PodName, c.PodUID = "other", "" }), train.joined(), false},
		{"another container", named(func(c *gpu.Container) { c.Name, c.PodUID = "other", "" }), train.joined(), false},
		{"another pod of that name", named(func(c *gpu.Container) { c.PodUID = "other" }), train.joined(), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u := newUsers(false)
			u.add(tt.user)
			if tt.want {
				assert.Same(t, tt.user, u.same(tt.holder))
			} else {
				assert.Nil(t, u.same(tt.holder))
			}
		})
	}
}

// A container restarts: its process is of a new instance, of which the API tells a little later. Of two it is not known which until then.
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
	require.Eventually(t, func() bool { return len(m.apply(again(), 10).Containers) == 1 }, 10*time.Second, time.Millisecond)
	want := train.joined()
	want.ID = hash("new", 64)
	assert.Equal(t, gpu.Some(0.8), general(use(t, m.apply(again(), 10), want, uuid(0))))
}

// Pods come and go; the right one is told at every step.
func TestPodsComeAndGo(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	holds := func(c who) *gpu.Node { return m.apply(holdAndRun(m, c), 10) }
	use(t, holds(train), train.joined(), uuid(0))

	require.NoError(t, m.client.CoreV1().Pods("ml").Delete(t.Context(), train.pod, metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { return m.attributor.view.Pods.ByUID(train.uid()) == nil }, 10*time.Second, time.Millisecond)
	u := use(t, holds(train), train.joined(), uuid(0))
	assert.Equal(t, gpu.Some(0.8), general(u), "its process still runs and its GPU is still held")

	_, err := m.client.CoreV1().Pods("ml").Create(t.Context(), podOf(infer), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return m.attributor.view.Pods.ByUID(infer.uid()) != nil }, 10*time.Second, time.Millisecond)
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

// The API server is away from the start, or goes away later: what was last known stays.
func TestAPIAway(t *testing.T) {
	m := newMachine(t, nil, podOf(train))
	away := true
	m.client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return away, nil, errors.New("connection refused")
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // Start waits for the API server, but not in vain for this test
	var err error
	m.attributor, err = New(m.config, interval, WithClients(m.clients))
	require.NoError(t, err)
	require.NoError(t, m.attributor.Start(ctx), "no error: it may come")
	defer func() { require.NoError(t, m.attributor.Close()) }()
	require.Eventually(t, func() bool { return m.attributor.view.Pods.Err() != nil }, 10*time.Second, time.Millisecond)
	node := m.apply(holdAndRun(m, train))
	require.Len(t, node.Problems, 1)
	assert.Equal(t, "pods", node.Problems[0].What)
	assert.Len(t, node.Containers, 2)
}

// Kubelets before 1.34 go on listing pods that have ended.
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
	want.Owners = []gpu.Owner{{Kind: "Node", Name: "n1", UID: "n"}}
	use(t, node, want, uuid(0))
}

// Of the API's pods those of the node alone are asked for.
func TestOnlyTheNodesPods(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	asked := 0
	for _, action := range m.client.Actions() {
		if list, ok := action.(clienttesting.ListAction); ok && action.GetResource().Resource == "pods" {
			asked++
			assert.Contains(t, list.GetListRestrictions().Fields.String(), "spec.nodeName=n1")
		}
	}
	assert.Positive(t, asked)
}

// Containers that have all but one of their names in common are two.
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

// A path that is relative to the collector's own control group may hold the container's id alone.
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
	want.Owners = []gpu.Owner{{Kind: "PyTorchJob", Name: "train", UID: "u"}}
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
	}, 10*time.Second, time.Millisecond)
	assert.Equal(t, "vision", first.Labels["k8s.pod.label.team"], "what was handed out is never changed")
}

// One of a container's processes has ended when more comes to be known of its pod: it is still one container, alone on its GPU.
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
	}, 10*time.Second, time.Millisecond)
	node := read(true, 3000)
	require.Len(t, node.Containers, 1)
	want := train.joined()
	want.Labels = map[string]string{"k8s.pod.label.team": "speech"}
	u := use(t, node, want, uuid(0))
	assert.Equal(t, gpu.Some(400.0), u.Power)
	assertTotal(t, 2000, u.Energy)
}

// A pod that is annotated with another one's UID does not take what that one uses.
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
