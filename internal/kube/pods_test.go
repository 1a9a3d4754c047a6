// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func podObject(name, uid string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, UID: types.UID(uid)},
		Spec:       corev1.PodSpec{NodeName: "n1"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func startPods(t *testing.T, client *fake.Clientset, options PodsOptions) *Pods {
	t.Helper()
	pods, err := NewPods(client, options)
	require.NoError(t, err)
	v := &View{Pods: pods, Owners: AskOwners(&Clients{Kubernetes: client}, nil)}
	v.Start()
	t.Cleanup(v.Stop)
	return pods
}

func TestPods(t *testing.T) {
	pod := podObject("train-0", "u1")
	pod.Labels = map[string]string{"team": "vision", "other": "x"}
	pod.Annotations = map[string]string{"cost-center": "42", "other": "x"}
	yes := true
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "batch/v1", Kind: "Job", Name: "train", UID: "u0", Controller: &yes, BlockOwnerDeletion: &yes,
	}}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", ContainerID: "containerd://aaa"}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "main", ContainerID: "containerd://bbb"},
		{Name: "waiting"},
	}
	pod.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "debug", ContainerID: "cri-o://ccc"}}
	pods := startPods(t, fake.NewClientset(pod), PodsOptions{
		Node: "n1", Labels: []string{"team", "missing"}, Annotations: []string{"cost-center"},
	})
	eventually(t, pods.Synced)

	want := &Pod{
		Node:      "n1",
		Namespace: "ml", Name: "train-0", UID: "u1", Phase: corev1.PodRunning,
		Owners:     []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "train", UID: "u0", Controller: &yes}},
		Attributes: map[string]string{"k8s.pod.label.team": "vision", "k8s.pod.annotation.cost-center": "42"},
		Containers: []Container{{Name: "init", ID: "aaa"}, {Name: "main", ID: "bbb"}, {Name: "waiting"}, {Name: "debug", ID: "ccc"}},
	}
	assert.Equal(t, want, pods.ByUID("u1"))
	assert.Equal(t, want, pods.ByName("ml", "train-0"))
	assert.Equal(t, want, pods.ByContainerID("ccc"))
	assert.Nil(t, pods.ByContainerID(""))
	assert.Nil(t, pods.ByUID("u2"))
	assert.Nil(t, pods.ByName("ml", "train-1"))
	assert.Equal(t, "main", want.ContainerByID("bbb"))
	assert.Empty(t, want.ContainerByID(""), "a container without an id is not the one of a process without one")
	assert.Empty(t, want.ContainerByID("zzz"))
	assert.Equal(t, "ccc", want.ContainerID("debug"))
	assert.Empty(t, want.ContainerID("zzz"))
	assert.False(t, want.Ended())
	require.NoError(t, pods.Err())
}

func TestPodsChange(t *testing.T) {
	client := fake.NewClientset()
	pods := startPods(t, client, PodsOptions{})
	eventually(t, pods.Synced)
	pod := podObject("a", "u1")
	_, err := client.CoreV1().Pods("ml").Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, func() bool { return pods.ByUID("u1") != nil })

	pod.Status.Phase = corev1.PodFailed
	_, err = client.CoreV1().Pods("ml").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	eventually(t, func() bool { return pods.ByUID("u1").Ended() })

	require.NoError(t, client.CoreV1().Pods("ml").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	eventually(t, func() bool { return pods.ByUID("u1") == nil })
}

// mirror returns the object by which a kubelet shows a static pod.
func mirror(name, uid, static string) *corev1.Pod {
	pod := podObject(name, uid)
	yes := true
	pod.Annotations = map[string]string{
		staticHash: static, staticMirror: static,
		"kubernetes.io/config.seen": "2026-01-01T00:00:00Z", "kubernetes.io/config.source": "file",
	}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n1", UID: "n", Controller: &yes}}
	return pod
}

// A static pod has another UID on its node than in the API.
func TestStaticPod(t *testing.T) {
	const static = "4f1a2b3c4d5e6f708192a3b4c5d6e7f8"
	pods := startPods(t, fake.NewClientset(mirror("etcd-n1", "u1", static)), PodsOptions{})
	eventually(t, pods.Synced)
	require.NotNil(t, pods.ByUID("u1"))
	assert.Equal(t, pods.ByUID("u1"), pods.ByUID(static))
	assert.Equal(t, "u1", pods.ByUID(static).UID)
}

// Any user who may create a pod may annotate it. No pod is confused with another because of that.
func TestPodsClaimUIDs(t *testing.T) {
	const static = "4f1a2b3c4d5e6f708192a3b4c5d6e7f8"
	forge := func(change func(*corev1.Pod), uid string) *corev1.Pod {
		pod := mirror("evil", "u9", uid)
		pod.Namespace = "evil"
		change(pod)
		return pod
	}
	exact := func(*corev1.Pod) {}
	tests := []struct {
		name  string
		evil  *corev1.Pod
		found string // by the UID that is claimed; empty if no pod is found
	}{
		{"another pod's UID", forge(exact, "u1"), "ml/train-0"},
		{"a static pod's UID", forge(exact, static), ""},
		{"a static pod's UID, not a mirror", forge(func(p *corev1.Pod) { delete(p.Annotations, staticMirror) }, static), "ml/etcd-n1"},
		{"a static pod's UID, the mirror of another", forge(func(p *corev1.Pod) { p.Annotations[staticMirror] = "x" }, static), "ml/etcd-n1"},
		{"a static pod's UID, owned by nobody", forge(func(p *corev1.Pod) { p.OwnerReferences = nil }, static), "ml/etcd-n1"},
		{"a static pod's UID, owned by another kind", forge(func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "Job" }, static), "ml/etcd-n1"},
		{"a static pod's UID, owned by another node", forge(func(p *corev1.Pod) { p.OwnerReferences[0].Name = "n2" }, static), "ml/etcd-n1"},
		{"nobody's UID, not a mirror", forge(func(p *corev1.Pod) { delete(p.Annotations, staticMirror) }, "gone"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pods := startPods(t, fake.NewClientset(podObject("train-0", "u1"), mirror("etcd-n1", "u2", static), tt.evil), PodsOptions{})
			eventually(t, pods.Synced)
			for range 50 { // what is found does not change from one time to the next
				found := pods.ByUID(tt.evil.Annotations[staticHash])
				if tt.found == "" {
					require.Nil(t, found)
					continue
				}
				require.NotNil(t, found)
				require.Equal(t, tt.found, found.Namespace+"/"+found.Name)
			}
			assert.Equal(t, "evil", pods.ByUID("u9").Name)
		})
	}
}

// Only the pods that are needed are requested.
func TestPodsSelectors(t *testing.T) {
	client := fake.NewClientset()
	var fields atomic.Value
	client.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		list := action.(clienttesting.ListAction) //nolint:forcetypeassert // a list
		fields.Store(list.GetListRestrictions().Fields.String())
		return false, nil, nil
	})
	pods := startPods(t, client, PodsOptions{Node: "n1"})
	eventually(t, pods.Synced)
	assert.Equal(t, "spec.nodeName=n1", fields.Load())
}

func TestPodsForbidden(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no rule allows it"))
	})
	pods := startPods(t, client, PodsOptions{Node: "n1"})
	eventually(t, func() bool { return pods.Err() != nil })
	require.ErrorContains(t, pods.Err(), "kube: watch pods of node n1")
	require.ErrorContains(t, pods.Err(), "no rule allows it")
	require.ErrorContains(t, pods.Err(), "grant list and watch")
	assert.False(t, pods.Synced())
}

// The last known pods stay while the API server does not answer. A failure that is not seen again ends.
func TestPodsAPIAway(t *testing.T) {
	client := fake.NewClientset(podObject("a", "u1"))
	pods := startPods(t, client, PodsOptions{})
	eventually(t, pods.Synced)
	now := time.Now()
	pods.informer.mu.Lock()
	pods.informer.now = func() time.Time { return now }
	pods.informer.mu.Unlock()

	pods.informer.watchFailed(t.Context(), nil, errors.New("dial tcp: i/o timeout"))
	require.ErrorContains(t, pods.Err(), "last known")
	assert.NotNil(t, pods.ByUID("u1"))
	now = now.Add(failureKeep + time.Second)
	require.NoError(t, pods.Err())

	pods.informer.watchFailed(t.Context(), nil, apierrors.NewUnauthorized("expired"))
	require.ErrorContains(t, pods.Err(), "check the credentials")
	now = now.Add(failureKeep + time.Second)
	pods.informer.watchFailed(t.Context(), nil, apierrors.NewResourceExpired("old"))
	require.NoError(t, pods.Err(), "a watch that ends as every watch does is no failure")
}
