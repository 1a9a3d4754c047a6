// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/lifecycle"
)

// followed records what a View reports of pods.
type followed struct {
	mu       sync.Mutex
	pods     []*lifecycle.Pod
	removals []string
	listed   bool
	exists   func(*lifecycle.Pod) bool
	known    []string // UIDs of pods that an earlier process has seen
}

func (f *followed) followers() Followers {
	return Followers{
		Seen: func(pod *lifecycle.Pod) { f.locked(func() { f.pods = append(f.pods, pod) }) },
		Gone: func(pod *lifecycle.Pod, visible bool) {
			f.locked(func() {
				if !visible {
					pod.Name += " unseen"
				}
				f.removals = append(f.removals, pod.Name)
			})
		},
		Knows:  func(uid string) bool { return slices.Contains(f.known, uid) },
		Listed: func(exists func(*lifecycle.Pod) bool) { f.locked(func() { f.listed, f.exists = true, exists }) },
	}
}

func (f *followed) locked(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// last returns the last state of a pod; nil if there is none.
func (f *followed) last(name string) (pod *lifecycle.Pod) {
	f.locked(func() {
		for _, state := range f.pods {
			if state.Name == name {
				pod = state
			}
		}
	})
	return pod
}

func (f *followed) eventually(t *testing.T, is func() bool) {
	t.Helper()
	require.Eventually(t, is, time.Minute, 5*time.Millisecond)
}

func TestFollow(t *testing.T) {
	yes := true
	owned := pod("web-1-a", "n1", container("main", nvidia, 2))
	owned.Labels = map[string]string{"team": "vision"}
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: "r1", Controller: &yes}}
	done := pod("done", "n1", container("main", nvidia, 1))
	done.Status.Phase = corev1.PodSucceeded
	client := fake.NewClientset(owned, done, pod("plain", "n1", container("main")))

	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	meta := metadatafake.NewSimpleMetadataClient(scheme, &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ml", Name: "web-1", UID: "r1",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "d1", Controller: &yes}},
		},
	})
	owners := kube.WatchOwners(&kube.Clients{Kubernetes: client, Metadata: meta}, []string{"replicasets.apps"})
	v, err := New(client, DefaultResources(), owners)
	require.NoError(t, err)
	f := &followed{}
	require.NoError(t, v.Follow([]string{"team"}, f.followers()))
	v.Start()
	t.Cleanup(v.Stop)
	f.eventually(t, func() (is bool) { f.locked(func() { is = f.listed }); return is })

	var names []string
	f.locked(func() {
		for _, state := range f.pods {
			names = append(names, state.Name)
		}
	})
	slices.Sort(names)
	assert.Equal(t, []string{"done", "web-1-a"}, names, "also one that has ended, but none without GPUs")
	first := f.last("web-1-a")
	assert.Equal(t, []gpu.Owner{
		{Kind: "ReplicaSet", Name: "web-1", UID: "r1", APIVersion: "apps/v1"}, {Kind: "Deployment", Name: "web", UID: "d1", APIVersion: "apps/v1"},
	}, first.Owners)
	assert.Equal(t, map[string]string{"k8s.pod.label.team": "vision"}, first.Labels)
	assert.Equal(t, []gpu.ResourceCount{{Resource: nvidia, Count: gpu.Some[int64](2)}}, first.Requests)
	assert.Equal(t, "Deployment", v.Snapshot().Requests[0].Owners[1].Kind)
	assert.True(t, f.exists(first))
	assert.True(t, f.exists(&lifecycle.Pod{Namespace: "ml", Name: "plain", UID: string(pod("plain", "n1").UID)}), "also one that is not followed")
	assert.False(t, f.exists(&lifecycle.Pod{Namespace: "ml", Name: "web-1-a", UID: "another"}))
	assert.False(t, f.exists(&lifecycle.Pod{Namespace: "ml", Name: "gone", UID: first.UID}))

	changed := owned.DeepCopy()
	changed.Status.Phase = corev1.PodFailed
	_, err = client.CoreV1().Pods("ml").UpdateStatus(t.Context(), changed, metav1.UpdateOptions{})
	require.NoError(t, err)
	f.eventually(t, func() bool { return f.last("web-1-a").Phase == "Failed" })
	assert.Len(t, f.last("web-1-a").Owners, 2, "also of one that has ended")
	require.NoError(t, client.CoreV1().Pods("ml").Delete(t.Context(), "web-1-a", metav1.DeleteOptions{}))
	f.eventually(t, func() (is bool) { f.locked(func() { is = len(f.removals) == 1 }); return is })
	assert.Equal(t, []string{"web-1-a"}, f.removals)
}

// Another pod with the name of one whose end was not seen waits for its owners, as each new pod.
func TestFollowNameTakenOverWaits(t *testing.T) {
	client := fake.NewClientset(pod("a", "n1", container("main", nvidia, 1)))
	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	clients := &kube.Clients{Kubernetes: client, Metadata: metadatafake.NewSimpleMetadataClient(scheme)}
	v, err := New(client, DefaultResources(), kube.WatchOwners(clients, []string{"replicasets.apps"}))
	require.NoError(t, err)
	f := &followed{}
	require.NoError(t, v.Follow(nil, f.followers()))
	v.Start()
	t.Cleanup(v.Stop)
	f.eventually(t, func() bool { return f.last("a") != nil })
	yes := true
	other := pod("a", "n2", container("main", nvidia, 1))
	other.UID = "uid-other"
	other.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: "r1", Controller: &yes}}
	_, err = client.CoreV1().Pods("ml").Update(t.Context(), other, metav1.UpdateOptions{})
	require.NoError(t, err)
	f.eventually(t, func() bool { return f.last("a").UID == "uid-other" })
	v.Stop()
	assert.False(t, v.ownersPause.IsZero(), "it has not waited for an owner that never comes")
}

// Another pod with the name of one whose end was not seen.
func TestFollowNameTakenOver(t *testing.T) {
	client := fake.NewClientset(pod("a", "n1", container("main", nvidia, 1)))
	v, err := New(client, DefaultResources(), nil)
	require.NoError(t, err)
	f := &followed{}
	require.NoError(t, v.Follow(nil, f.followers()))
	v.Start()
	t.Cleanup(v.Stop)
	f.eventually(t, func() bool { return f.last("a") != nil })
	other := pod("a", "n2", container("main", nvidia, 1))
	other.UID = "uid-other"
	_, err = client.CoreV1().Pods("ml").Update(t.Context(), other, metav1.UpdateOptions{})
	require.NoError(t, err)
	f.eventually(t, func() bool { return f.last("a").UID == "uid-other" })
	f.locked(func() { assert.Equal(t, []string{"a unseen"}, f.removals) })
}
