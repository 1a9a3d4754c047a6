// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/lifecycle"
)

const class = "gpu.nvidia.com"

// givenClaims is a claimSource of a test.
type givenClaims struct {
	view *View

	mu     sync.Mutex
	claims map[string]*kube.RequestedClaim
	calls  int // calls of Get
}

func (c *givenClaims) Run(ctx context.Context) { <-ctx.Done() }
func (c *givenClaims) Synced() bool            { return true }
func (c *givenClaims) Err() error              { return nil }
func (c *givenClaims) Get(claim kube.Claim) *kube.RequestedClaim {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	return c.claims[claim.Name]
}

// set makes or changes a claim; nil deletes it.
func (c *givenClaims) set(name string, claim *kube.RequestedClaim) {
	c.mu.Lock()
	c.claims[name] = claim
	c.mu.Unlock()
	if claim != nil {
		c.view.claimChanged(kube.Claim{Namespace: "ml", Name: name})
	}
}

// newClaimed returns a View with claims, and what it reports.
func newClaimed(t *testing.T, client *fake.Clientset) (*givenClaims, *followed) {
	t.Helper()
	f := &followed{}
	return follows(t, client, f.followers(), nil), f
}

// follows returns the claims, as given, of a View that has listed the pods of the client.
func follows(t *testing.T, client *fake.Clientset, followers Followers, requests map[string]*kube.RequestedClaim) *givenClaims {
	t.Helper()
	v, err := New(client, DefaultResources(), nil)
	require.NoError(t, err)
	claims := &givenClaims{view: v, claims: maps.Clone(requests)}
	if requests == nil {
		claims.claims = map[string]*kube.RequestedClaim{}
	}
	v.claims, v.store.classes = claims, []string{class}
	listed, report := make(chan struct{}), followers.Listed
	followers.Listed = func(exists func(*lifecycle.Pod) bool) {
		report(exists)
		close(listed)
	}
	require.NoError(t, v.Follow(nil, followers))
	v.Start()
	t.Cleanup(v.Stop)
	<-listed
	return claims
}

// claiming returns a pod whose containers have a claim.
func claiming(name, node, claim string, containers ...string) *corev1.Pod {
	p := pod(name, node)
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpus"}}
	if claim != "" {
		p.Spec.ResourceClaims[0].ResourceClaimName = &claim
	}
	for _, c := range containers {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
			Name: c, Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpus"}}},
		})
	}
	return p
}

func requested(count gpu.Opt[int64]) *kube.RequestedClaim {
	return &kube.RequestedClaim{Requests: []kube.DeviceRequest{{Name: "r", Class: class, Count: count}}}
}

func allocated(users int, count int64) *kube.RequestedClaim {
	c := requested(gpu.Some(count))
	c.Allocated, c.Users = true, users
	return c
}

// A pod is followed from when its claim is known to be for a GPU, to its end, also after the claim has lost what it was given.
func TestFollowClaims(t *testing.T) {
	client := fake.NewClientset()
	claims, f := newClaimed(t, client)
	pods := client.CoreV1().Pods("ml")
	p := claiming("a", "", "", "main")
	_, err := pods.Create(t.Context(), p, metav1.CreateOptions{})
	require.NoError(t, err)
	p = claiming("a", "", "a-gpus-x1", "main")
	p.Labels = map[string]string{"step": "claim made"}
	_, err = pods.Update(t.Context(), p, metav1.UpdateOptions{})
	require.NoError(t, err)
	handed := func() bool {
		claims.view.handing.Lock()
		defer claims.view.handing.Unlock()
		c := claims.view.claimed["uid-a"]
		return c != nil && c.pod.claims[0].Name != ""
	}
	f.eventually(t, handed)
	assert.Nil(t, f.last("a"), "nobody knows what the claim is for")

	claims.set("a-gpus-x1", requested(gpu.Opt[int64]{}))
	require.NotNil(t, f.last("a"))
	assert.Equal(t, []gpu.ResourceCount{{Resource: class}}, f.last("a").Requests)
	claims.set("a-gpus-x1", allocated(1, 4))
	assert.Equal(t, []gpu.ResourceCount{{Resource: class, Count: gpu.Some[int64](4)}}, f.last("a").Requests)
	assert.Equal(t, []lifecycle.Allocation{{Container: "main", Resource: class, Count: gpu.Some[int64](4), DRA: true}}, f.last("a").Allocations)

	p = claiming("a", "n1", "a-gpus-x1", "main")
	_, err = pods.Update(t.Context(), p, metav1.UpdateOptions{})
	require.NoError(t, err)
	f.eventually(t, func() bool { return f.last("a").Node == "n1" })
	assert.Equal(t, []gpu.ContainerRequest{{
		Namespace: "ml", Pod: "a", PodUID: "uid-a", Container: "main", Node: "n1", Resource: class, Count: 4,
	}}, claims.view.Snapshot().Requests)
	claims.set("a-gpus-x1", requested(gpu.Opt[int64]{}))
	p.Status.Phase = corev1.PodSucceeded
	_, err = pods.Update(t.Context(), p, metav1.UpdateOptions{})
	require.NoError(t, err)
	f.eventually(t, func() bool { return f.last("a").Phase == "Succeeded" })
	assert.Equal(t, gpu.Some[int64](4), f.last("a").Allocations[0].Count)
	assert.Empty(t, claims.view.Snapshot().Requests)
	claims.set("a-gpus-x1", nil)
	require.NoError(t, pods.Delete(t.Context(), "a", metav1.DeleteOptions{}))
	f.eventually(t, func() (is bool) { f.locked(func() { is = len(f.removals) == 1 }); return is })
	claims.view.handing.Lock()
	defer claims.view.handing.Unlock()
	assert.Empty(t, claims.view.claimed)
}

// A claim for something else is ignored; a claim of several pods is shared; requests of one class are summed.
func TestClaimsOfPods(t *testing.T) {
	client := fake.NewClientset(claiming("nic", "n1", "nic", "main"), claiming("two", "n1", "two", "one", "other"), claiming("users", "n1", "users", "main"))
	claims, f := newClaimed(t, client)
	claims.set("nic", &kube.RequestedClaim{Allocated: true})
	claims.set("two", allocated(1, 1))
	users := allocated(2, 1)
	users.Requests = append(users.Requests, kube.DeviceRequest{Name: "s", Class: class, Count: gpu.Some[int64](2)})
	claims.set("users", users)
	f.eventually(t, func() bool { return f.last("two") != nil && f.last("users") != nil })
	assert.Nil(t, f.last("nic"))
	one := lifecycle.Allocation{Container: "one", Resource: class, Count: gpu.Some[int64](1), DRA: true, Shared: true}
	other := one
	other.Container = "other"
	assert.Equal(t, []lifecycle.Allocation{one, other}, f.last("two").Allocations)
	assert.Equal(t, []gpu.ResourceCount{{Resource: class, Count: gpu.Some[int64](1)}}, f.last("two").Requests)
	assert.Equal(t, []lifecycle.Allocation{{Container: "main", Resource: class, Count: gpu.Some[int64](3), DRA: true, Shared: true}}, f.last("users").Allocations)
	assert.Len(t, claims.view.Snapshot().Requests, 3)
}

// A claim counts for each container that has it, as container.gpu.allocated does: docs/reference/metrics.md says so.
func TestSharedClaimCountsForEach(t *testing.T) {
	client := fake.NewClientset(claiming("a", "n1", "both", "one", "other"), claiming("b", "n1", "both", "main"))
	claims, _ := newClaimed(t, client)
	claims.set("both", allocated(2, 1))
	var counts []string
	for _, r := range claims.view.Snapshot().Requests {
		counts = append(counts, fmt.Sprint(r.Pod, " ", r.Container, " ", r.Count))
	}
	assert.Equal(t, []string{"a one 1", "a other 1", "b main 1"}, counts)
}

// A claim that two pods have is shared to the end of both: with the first it loses a user. Another claim of the same name does not belong
// to a pod that had its own.
func TestClaimLosesUsers(t *testing.T) {
	client := fake.NewClientset(claiming("a", "n1", "both", "main"))
	claims, f := newClaimed(t, client)
	claims.set("both", allocated(2, 1))
	f.eventually(t, func() bool { return f.last("a") != nil })
	claims.set("both", allocated(1, 1))
	assert.True(t, f.last("a").Allocations[0].Shared)

	other := allocated(1, 8)
	other.UID = "another"
	claims.set("both", other)
	assert.Equal(t, []gpu.ResourceCount{{Resource: class, Count: gpu.Some[int64](1)}}, f.last("a").Requests)
}

// trackerOf returns a Tracker that goes on with the parts that another one has stored, what it sends, and what feeds it.
func trackerOf(t *testing.T, parts map[string]any) (*lifecycle.Tracker, *[]gpu.EventType, Followers) {
	t.Helper()
	events := &[]gpu.EventType{}
	tracker := lifecycle.NewTracker(func(batch []gpu.Event) {
		for i := range batch {
			*events = append(*events, batch[i].Type)
		}
	})
	tracker.Restore(func(use func(string, []byte) error) {
		for name, value := range parts {
			data, err := json.Marshal(value)
			require.NoError(t, err)
			require.NoError(t, use(name, data))
		}
	})
	return tracker, events, Followers{
		Seen: tracker.Seen, Gone: tracker.Gone, Knows: tracker.Knows, Listed: func(func(*lifecycle.Pod) bool) { tracker.Listed() },
	}
}

// A pod that an earlier process knew is followed although its claim cannot be read, or has lost what it was given: it is not reported again, and its end is.
func TestKnownPodsOfUnreadableClaims(t *testing.T) {
	tracker, events, followers := trackerOf(t, nil)
	requests := map[string]*kube.RequestedClaim{"c": allocated(1, 4)}
	claims := follows(t, fake.NewClientset(claiming("a", "n1", "c", "main")), followers, requests)
	claims.view.Stop()
	assert.Contains(t, *events, gpu.EventAllocated)
	parts := tracker.Checkpoint(func() {})
	delete(parts, "confirmed")

	for name, requests := range map[string]map[string]*kube.RequestedClaim{
		"unread": nil, "lost": {"c": requested(gpu.Opt[int64]{})},
	} {
		tracker, events, followers := trackerOf(t, parts)
		client := fake.NewClientset(claiming("a", "n1", "c", "main"), claiming("new", "n1", "other", "main"))
		claims := follows(t, client, followers, requests)
		assert.Empty(t, tracker.Missing(), name)
		claims.set("c", allocated(1, 4))
		claims.set("c", nil)
		require.NoError(t, client.CoreV1().Pods("ml").Delete(t.Context(), "a", metav1.DeleteOptions{}))
		(&followed{}).eventually(t, func() bool { return !tracker.Knows("uid-a") })
		claims.view.Stop()
		assert.Equal(t, []gpu.EventType{gpu.EventReleased, gpu.EventPodDeleted}, *events, name)
		assert.False(t, tracker.Knows("uid-new"), "nobody knows what its claim is for")
	}

	tracker, events, followers = trackerOf(t, parts)
	follows(t, fake.NewClientset(claiming("a", "n1", "c", "main")), followers, map[string]*kube.RequestedClaim{"c": {Allocated: true}})
	assert.Len(t, tracker.Missing(), 1, "its claim does not count as GPUs now")
	assert.Empty(t, *events)
}

// A claim that becomes known, or allocated, after its pod was bound is the pod's from then on. Before that nothing is: of alternatives another may be taken.
func TestLateClaims(t *testing.T) {
	_, events, followers := trackerOf(t, nil)
	var last *lifecycle.Pod
	see := followers.Seen
	followers.Seen = func(pod *lifecycle.Pod) {
		last = pod
		see(pod)
	}
	claims := follows(t, fake.NewClientset(claiming("a", "n1", "c", "main")), followers, map[string]*kube.RequestedClaim{"c": requested(gpu.Opt[int64]{})})
	require.NotNil(t, last)
	assert.Equal(t, []gpu.ResourceCount{{Resource: class}}, last.Requests)
	assert.NotContains(t, *events, gpu.EventAllocated)
	claims.set("c", allocated(1, 4))
	assert.Equal(t, []gpu.ResourceCount{{Resource: class, Count: gpu.Some[int64](4)}}, last.Requests)
	assert.Equal(t, gpu.EventAllocated, (*events)[len(*events)-1])
}

// A pod waits once for a claim that never comes, and not for one that it does not need.
func TestWaitForClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, err := New(fake.NewClientset(), DefaultResources(), nil)
		require.NoError(t, err)
		claims := &givenClaims{view: v}
		v.claims, v.store.classes, v.store.follow, v.ctx = claims, []string{class}, true, t.Context()
		stored := func(p *corev1.Pod) *storedPod {
			object, err := v.store.storePod(p)
			require.NoError(t, err)
			return podIn(object)
		}
		waited := func(before, pod *storedPod) bool {
			claims.calls, v.claimsPause = 0, time.Time{}
			v.await(before, pod)
			return claims.calls > 1
		}
		pending, bound := stored(claiming("a", "", "never", "main")), stored(claiming("a", "n1", "never", "main"))
		assert.False(t, waited(nil, pending))
		assert.True(t, waited(pending, bound))
		assert.False(t, waited(bound, bound), "at each change")
		assert.True(t, waited(nil, bound))
		v.await(nil, bound)
		claims.calls = 0
		v.await(nil, bound)
		assert.Zero(t, claims.calls, "after a claim that was missed no pod waits for a while")
		v.claimsPause = time.Time{}
		assert.False(t, waited(nil, stored(claiming("b", "n1", "", "main"))), "it has no claim to wait for")
		assert.Zero(t, v.claimsPause)
	})
}

func TestDeviceClassesAreChecked(t *testing.T) {
	v, err := New(fake.NewClientset(), DefaultResources(), nil)
	require.NoError(t, err)
	require.ErrorContains(t, v.WatchClaims(nil, []string{"a b"}), "device_classes")
}
