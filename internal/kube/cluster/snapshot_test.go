// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

const (
	nvidia = "nvidia.com/gpu"
	mig    = "nvidia.com/mig-1g.10gb"
	shared = "nvidia.com/gpu.shared"
	amd    = "amd.com/gpu"
)

// list returns resources from names and counts.
func list(pairs ...any) corev1.ResourceList {
	resources := corev1.ResourceList{"cpu": resource.MustParse("500m")}
	for i := 0; i < len(pairs); i += 2 {
		resources[corev1.ResourceName(fmt.Sprint(pairs[i]))] = resource.MustParse(fmt.Sprint(pairs[i+1]))
	}
	return resources
}

func container(name string, pairs ...any) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: list(pairs...), Limits: list(pairs...)}}
}

func pod(name, node string, containers ...corev1.Container) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, UID: types.UID("uid-" + name)},
		Spec:       corev1.PodSpec{NodeName: node, Containers: containers},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if node == "" {
		p.Status.Phase = corev1.PodPending
	}
	return p
}

// unschedulable sets what the scheduler says about a pod.
func unschedulable(p *corev1.Pod, message string) *corev1.Pod {
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
	}}
	return p
}

func node(name string, capacity, allocatable corev1.ResourceList) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Status:     corev1.NodeStatus{Capacity: capacity, Allocatable: allocatable},
	}
}

func start(t *testing.T, client *fake.Clientset) *View {
	t.Helper()
	v, err := New(client, DefaultResources(), nil)
	require.NoError(t, err)
	v.Start()
	t.Cleanup(v.Stop)
	require.Eventually(t, v.Synced, time.Minute, time.Millisecond)
	return v
}

func some(n int64) gpu.Opt[int64] { return gpu.Some(n) }

func TestSnapshot(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	inits := pod("inits", "n1", container("main", nvidia, 1))
	sidecar := container("sidecar", nvidia, 2)
	sidecar.RestartPolicy = &always
	inits.Spec.InitContainers = []corev1.Container{container("first", nvidia, 1), sidecar, container("then", nvidia, 4)}
	done := pod("done", "n1", container("main", nvidia, 8))
	done.Status.Phase = corev1.PodSucceeded
	failed := pod("failed", "n1", container("main", nvidia, 8))
	failed.Status.Phase = corev1.PodFailed
	limits := pod("limits", "n2", corev1.Container{Name: "main", Resources: corev1.ResourceRequirements{Limits: list(mig, 2)}})

	v := start(t, fake.NewClientset(
		node("n1", list(nvidia, 8, amd, 0), list(nvidia, 7, amd, 0)),
		node("n2", list(mig, 7), list(mig, 7)),
		node("cpu", list(), list()),
		pod("a", "n1", container("one", nvidia, 1), container("two", nvidia, 1, mig, 1), container("none", nvidia, 0)),
		inits, done, failed, limits,
		pod("plain", "n1", container("main")),
		pod("lost", "gone", container("main", nvidia, 3)),
		unschedulable(pod("waits", "", container("main", nvidia, 8)),
			"0/3 nodes are available: 1 Insufficient cpu, 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available"),
		unschedulable(pod("cpu-bound", "", container("main", mig, 1)), "0/3 nodes are available: 2 Insufficient "+mig+", 3 Insufficient cpu."),
		pod("new", "", container("main", nvidia, 1)),
	))
	assert.Equal(t, gpu.Cluster{
		Requests: []gpu.ContainerRequest{
			{Namespace: "ml", Pod: "a", PodUID: "uid-a", Container: "one", Node: "n1", Resource: nvidia, Count: 1},
			{Namespace: "ml", Pod: "a", PodUID: "uid-a", Container: "two", Node: "n1", Resource: nvidia, Count: 1},
			{Namespace: "ml", Pod: "a", PodUID: "uid-a", Container: "two", Node: "n1", Resource: mig, Count: 1},
			{Namespace: "ml", Pod: "cpu-bound", PodUID: "uid-cpu-bound", Container: "main", Resource: mig, Count: 1},
			{Namespace: "ml", Pod: "inits", PodUID: "uid-inits", Container: "main", Node: "n1", Resource: nvidia, Count: 1},
			{Namespace: "ml", Pod: "inits", PodUID: "uid-inits", Container: "sidecar", Node: "n1", Resource: nvidia, Count: 2},
			{Namespace: "ml", Pod: "limits", PodUID: "uid-limits", Container: "main", Node: "n2", Resource: mig, Count: 2},
			{Namespace: "ml", Pod: "lost", PodUID: "uid-lost", Container: "main", Node: "gone", Resource: nvidia, Count: 3},
			{Namespace: "ml", Pod: "new", PodUID: "uid-new", Container: "main", Resource: nvidia, Count: 1},
			{Namespace: "ml", Pod: "waits", PodUID: "uid-waits", Container: "main", Resource: nvidia, Count: 8},
		},
		Nodes: []gpu.NodeResource{
			{Node: "n1", NodeUID: "uid-n1", Resource: amd, Capacity: some(0), Allocatable: some(0)},
			{Node: "n1", NodeUID: "uid-n1", Resource: nvidia, Capacity: some(8), Allocatable: some(7), Requested: 2 + 6},
			{Node: "n1", NodeUID: "uid-n1", Resource: mig, Requested: 1},
			{Node: "n2", NodeUID: "uid-n2", Resource: mig, Capacity: some(7), Allocatable: some(7), Requested: 2},
		},
		Pending: []gpu.PendingPods{{Resource: amd, Pods: 0}, {Resource: nvidia, Pods: 1}, {Resource: mig, Pods: 0}},
	}, v.Snapshot())
	assert.Empty(t, v.Problems())
}

func TestSnapshotChanges(t *testing.T) {
	client := fake.NewClientset(node("n1", list(nvidia, 8), list(nvidia, 8)), pod("before", "n1", container("main", nvidia, 1)))
	v := start(t, client)
	assert.Equal(t, []gpu.NodeResource{{Node: "n1", NodeUID: "uid-n1", Resource: nvidia, Capacity: some(8), Allocatable: some(8), Requested: 1}}, v.Snapshot().Nodes)

	waiting := unschedulable(pod("a", "", container("main", nvidia, 8)), "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")
	_, err := client.CoreV1().Pods("ml").Create(t.Context(), waiting, metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, func() bool { return v.Snapshot().Pending[0].Pods == 1 })

	require.NoError(t, client.CoreV1().Pods("ml").Delete(t.Context(), "before", metav1.DeleteOptions{}))
	eventually(t, func() bool { s := v.Snapshot(); return s.Nodes[0].Requested == 0 && s.Pending[0].Pods == 0 })

	_, err = client.CoreV1().Pods("ml").Update(t.Context(), pod("a", "n1", container("main", nvidia, 8)), metav1.UpdateOptions{})
	require.NoError(t, err)
	eventually(t, func() bool { s := v.Snapshot(); return s.Nodes[0].Requested == 8 && s.Pending[0].Pods == 0 })

	done := pod("a", "n1", container("main", nvidia, 8))
	done.Status.Phase = corev1.PodSucceeded
	_, err = client.CoreV1().Pods("ml").Update(t.Context(), done, metav1.UpdateOptions{})
	require.NoError(t, err)
	eventually(t, func() bool { s := v.Snapshot(); return s.Nodes[0].Requested == 0 && len(s.Requests) == 0 })
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, time.Millisecond)
}

func TestInsufficient(t *testing.T) {
	for message, want := range map[string]bool{
		"1 Insufficient nvidia.com/gpu":                                  true,
		"1 Insufficient nvidia.com/gpu.":                                 true,
		"1 Insufficient nvidia.com/gpu, 2 Insufficient cpu":              true,
		"1 Insufficient cpu, 1 Insufficient nvidia.com/gpu. x":           true,
		"1 Insufficient nvidia.com/gpu.shared":                           false,
		"1 Insufficient nvidia.com/gpu.shared, 1 Insufficient cpu":       false,
		"1 Insufficient nvidia.com/gpu.shared, 1 Insufficient " + nvidia: true,
		"1 Insufficient cpu":                                             false,
		"":                                                               false,
		"nvidia.com/gpu":                                                 false,
	} {
		assert.Equal(t, want, insufficient(message, nvidia), message)
	}
	assert.True(t, insufficient("1 Insufficient nvidia.com/gpu.shared.", shared))
}

func TestWants(t *testing.T) {
	requested := []amount{{nvidia, 1}, {mig, 1}}
	p := unschedulable(pod("a", ""), "1 Insufficient "+nvidia+", 1 Insufficient "+mig)
	assert.Equal(t, requested, missing(&p.Status, requested))
	p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated
	assert.Empty(t, missing(&p.Status, requested), "held back by its own gates")
	p.Status.Conditions[0].Reason = corev1.PodReasonUnschedulable
	p.Status.Conditions[0].Status = corev1.ConditionTrue
	assert.Empty(t, missing(&p.Status, requested))
}

func TestForbidden(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: action.GetResource().Resource}, "", errors.New("no"))
	})
	v, err := New(client, DefaultResources(), nil)
	require.NoError(t, err)
	v.Start()
	defer v.Stop()
	eventually(t, func() bool { return len(v.Problems()) == 2 })
	assert.Equal(t, "pods", v.Problems()[0].What)
	assert.Equal(t, "nodes", v.Problems()[1].What)
	assert.False(t, v.Synced())
}

func TestStopWithoutStart(t *testing.T) {
	v, err := New(fake.NewClientset(), DefaultResources(), nil)
	require.NoError(t, err)
	v.Stop()
}

// Only the name is kept of a pod that requests no GPU.
func TestPodCacheFields(t *testing.T) {
	m := &store{names: DefaultResources()}
	p := pod("plain", "n1", container("main"))
	p.Labels = map[string]string{"a": "b"}
	p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "SECRET", Value: "x"}}
	got, err := m.storePod(p)
	require.NoError(t, err)
	assert.Equal(t, &storedPod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "plain", UID: "uid-plain"}, node: "n1",
	}, got)
	again, err := m.storePod(got)
	require.NoError(t, err)
	assert.Same(t, got, again)
}

// BenchmarkSnapshot has a cluster of 1,000 nodes with 8 GPUs, and 50,000 pods. 8,000 pods request a GPU.
func BenchmarkSnapshot(b *testing.B) {
	client := fake.NewClientset()
	v, err := New(client, DefaultResources(), nil)
	require.NoError(b, err)
	m := &store{names: DefaultResources()}
	for n := range 1000 {
		stored, _ := m.storeNode(node(fmt.Sprint("n", n), list(nvidia, 8), list(nvidia, 8)))
		require.NoError(b, v.nodes.GetStore().Add(stored))
	}
	for n := range 50000 {
		p := pod(fmt.Sprint("p", n), fmt.Sprint("n", n%1000), container("main"))
		if n < 8000 {
			p = pod(fmt.Sprint("p", n), fmt.Sprint("n", n%1000), container("main", nvidia, 1))
		}
		stored, _ := m.storePod(p)
		require.NoError(b, v.pods.GetStore().Add(stored))
	}
	b.ReportAllocs()
	for b.Loop() {
		v.Snapshot()
	}
}
