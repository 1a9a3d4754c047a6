// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func withAllocations(pod *corev1.Pod, allocations ...Allocation) *Pod {
	p := podOf(pod)
	p.Allocations = allocations
	return p
}

func twoGPUs(container string) Allocation {
	return Allocation{Container: container, Resource: "nvidia.com/gpu", Count: gpu.Some[int64](2)}
}

// allocationsOf returns the events of what containers have.
func allocationsOf(events []gpu.Event) []gpu.Event {
	var result []gpu.Event
	for i := range events {
		if events[i].Holder != nil {
			result = append(result, events[i])
		}
	}
	return result
}

// Each container has its GPUs from when its pod is bound until the pod has ended, whatever ends before.
func TestAllocations(t *testing.T) {
	tr := newTracked()
	pod := begun()
	observe := func() []gpu.Event {
		tr.events = nil
		tr.Seen(withAllocations(pod, twoGPUs("main"), twoGPUs("other")))
		return allocationsOf(tr.events)
	}
	assert.Empty(t, observe(), "it has no node")
	scheduled(pod)
	events := observe()
	require.Len(t, events, 2)
	assert.Equal(t, gpu.Event{
		Type: gpu.EventAllocated, Time: timeAt(5), UID: events[0].UID, Use: &gpu.Use{Start: timeAt(5), StartKnown: true},
		Holder: &gpu.Holder{
			Container: &gpu.Container{
				Namespace: "ml", PodName: "train-0", PodUID: "p1", Name: "main", Owners: []gpu.Owner{{Kind: "Job", Name: "train", UID: "j1"}},
				Labels: map[string]string{"k8s.pod.label.team": "vision"},
			},
			Resource: "nvidia.com/gpu",
		},
		Outside: &gpu.Outside{Node: "n1", Count: gpu.Some[int64](2)},
	}, events[0])
	assert.NotEqual(t, events[0].UID, events[1].UID)
	running(pod, 0, 7)
	assert.Empty(t, observe())
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: ended(0, "Completed", 30)}
	assert.Empty(t, observe(), "the pod has not ended")
	pod.Status.Phase = corev1.PodSucceeded
	again := observe()
	require.Len(t, again, 2)
	assert.Equal(t, gpu.EventReleased, again[0].Type)
	assert.Equal(t, &gpu.Use{Start: timeAt(5), StartKnown: true, End: timeAt(30), EndKnown: true, GPUTime: gpu.Some(50.0)}, again[0].Use)
	assert.Equal(t, "c1", again[0].Holder.Container.ID)
	tr.events = nil
	tr.Gone(withAllocations(pod, twoGPUs("main")), true)
	assert.Empty(t, allocationsOf(tr.events), "once")

	restarted := allocationsOf(Changes(nil, withAllocations(pod, twoGPUs("main"), twoGPUs("other")), now))
	require.Len(t, restarted, 4)
	for i, uid := range []string{events[0].UID, events[1].UID, again[0].UID, again[1].UID} {
		assert.Equal(t, uid, restarted[i].UID, "the same after a restart of the collector")
	}
}

func TestAllocationsOfADeletedPod(t *testing.T) {
	for _, c := range []struct {
		name     string
		observed bool
		use      *gpu.Use
	}{
		{"observed", true, &gpu.Use{Start: timeAt(5), StartKnown: true, End: now, EndKnown: true, GPUTime: gpu.Some(90.0)}},
		{"vanished", false, &gpu.Use{Start: timeAt(5), StartKnown: true, End: timeAt(20), GPUTime: gpu.Some(30.0)}},
	} {
		tr := newTracked()
		pod := begun()
		scheduled(pod)
		tr.setTime(timeAt(10))
		tr.Seen(withAllocations(pod, twoGPUs("main")))
		tr.Confirm(timeAt(20))
		tr.setTime(now)
		tr.events = nil
		tr.Gone(withAllocations(pod, twoGPUs("main")), c.observed)
		assert.Equal(t, []gpu.EventType{gpu.EventReleased, gpu.EventPodDeleted}, typesOf(tr.events), c.name)
		assert.Equal(t, c.use, tr.events[0].Use, c.name)
	}
	tr := newTracked()
	tr.Seen(withAllocations(begun(), twoGPUs("main")))
	tr.Gone(withAllocations(begun(), twoGPUs("main")), true)
	assert.Empty(t, allocationsOf(tr.events), "it never had a node")
}

func claimed(container string, count gpu.Opt[int64]) Allocation {
	return Allocation{Container: container, Resource: "gpu.nvidia.com", Count: count, DRA: true}
}

// A claim that becomes known after the pod was bound is reported then, with the time of the binding, and once: what it was given stays when it is gone.
func TestAllocationsOfALateClaim(t *testing.T) {
	tr := newTracked()
	pod := begun()
	scheduled(pod)
	running(pod, 0, 7)
	observe := func(allocations ...Allocation) []gpu.Event {
		tr.events = nil
		tr.Seen(withAllocations(pod, allocations...))
		return allocationsOf(tr.events)
	}
	require.Len(t, observe(twoGPUs("main")), 1)
	late := observe(twoGPUs("main"), claimed("main", gpu.Some[int64](4)))
	require.Len(t, late, 1)
	assert.Equal(t, gpu.EventAllocated, late[0].Type)
	assert.Equal(t, "gpu.nvidia.com", late[0].Holder.Resource)
	assert.Equal(t, timeAt(5), late[0].Time)
	assert.Empty(t, observe(twoGPUs("main"), claimed("main", gpu.Opt[int64]{})), "its number is known")
	assert.Empty(t, observe(twoGPUs("main")), "the claim is gone, and the pod still has its devices")
	pod.Status.Phase = corev1.PodFailed
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: ended(1, "Error", 30)}
	released := observe(twoGPUs("main"))
	require.Equal(t, []gpu.EventType{gpu.EventReleased, gpu.EventReleased}, typesOf(released))
	assert.Equal(t, gpu.Some(100.0), released[1].Use.GPUTime)

	after := observe(twoGPUs("main"), claimed("other", gpu.Some[int64](1)))
	require.Equal(t, []gpu.EventType{gpu.EventAllocated, gpu.EventReleased}, typesOf(after), "known after the end")
	assert.Equal(t, &gpu.Use{Start: timeAt(5), StartKnown: true, End: timeAt(30), EndKnown: true, GPUTime: gpu.Some(25.0)}, after[1].Use)
	tr.events = nil
	tr.Gone(withAllocations(pod, twoGPUs("main")), true)
	assert.Empty(t, allocationsOf(tr.events))
}

// A claim that is shared once counts as shared to the end.
func TestAllocationsStayShared(t *testing.T) {
	tr := newTracked()
	pod := begun()
	scheduled(pod)
	shared := claimed("main", gpu.Some[int64](1))
	shared.Shared = true
	tr.Seen(withAllocations(pod, shared))
	tr.events = nil
	tr.Gone(withAllocations(pod, claimed("main", gpu.Some[int64](1))), true)
	require.Equal(t, gpu.EventReleased, tr.events[0].Type)
	assert.Equal(t, gpu.SharingClaim, tr.events[0].Holder.Sharing)
	assert.False(t, tr.events[0].Use.GPUTime.Known())
}

// Whenever a claim becomes known and is lost, each released has one allocated before it.
func TestAllocationsOfRandomClaims(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 2))
		tr := newTracked()
		pod := begun()
		now := func() *Pod {
			allocations := []Allocation{twoGPUs("main")}
			for _, container := range []string{"main", "other"} {
				if random.IntN(2) == 0 {
					allocations = append(allocations, claimed(container, gpu.Some[int64](1)))
				}
			}
			return withAllocations(pod, allocations...)
		}
		tr.Seen(now())
		for second := 5; second < 40; second += 1 + random.IntN(5) {
			switch random.IntN(8) {
			case 0, 1:
				if pod.Spec.NodeName == "" {
					scheduled(pod)
				}
			case 2:
				if pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending {
					running(pod, 0, second)
				}
			case 3:
				if pod.Status.Phase == corev1.PodRunning {
					pod.Status.Phase = corev1.PodSucceeded
				}
			}
			tr.Seen(now())
		}
		tr.Gone(now(), random.IntN(2) == 0)
		balance, total := map[string]int{}, map[string]int{}
		for _, e := range allocationsOf(tr.events) {
			key := e.Holder.Container.Name + " " + e.Holder.Resource
			if e.Type == gpu.EventAllocated {
				balance[key]++
				total[key]++
			} else {
				balance[key]--
			}
			require.Contains(t, []int{0, 1}, balance[key], "%d: %s", seed, key)
		}
		for key, left := range balance {
			require.Zero(t, left, "%d: %s", seed, key)
			require.Equal(t, 1, total[key], "%d: %s", seed, key)
		}
	}
}

// An allocation of unknown size has no GPU-seconds: an unknown number of devices, and the part of a shared claim.
func TestAllocationsOfUnknownSize(t *testing.T) {
	pod := begun()
	scheduled(pod)
	shared, unknown := twoGPUs("main"), Allocation{Container: "other", Resource: "gpu.nvidia.com", DRA: true}
	shared.Shared = true
	events := allocationsOf(Deleted(withAllocations(pod, shared, unknown), time.Time{}, now))
	require.Len(t, events, 2)
	for i := range events {
		assert.False(t, events[i].Use.GPUTime.Known())
	}
	assert.Equal(t, gpu.SharingClaim, events[0].Holder.Sharing)
	assert.Equal(t, gpu.AllocatorDRA, events[1].Holder.Allocator)
	assert.False(t, events[1].Outside.Count.Known())
}

// Whatever happens to a pod, each container that was given GPUs gives them back once, and the records agree with the time in which the pod had a node.
func TestAllocationsOfRandomLives(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 1))
		tr := newTracked()
		pod := begun()
		second := 2
		for ; second < 40; second += 1 + random.IntN(5) {
			tr.setTime(timeAt(second))
			switch random.IntN(4) {
			case 0:
				if pod.Spec.NodeName == "" {
					pod.Spec.NodeName = "n1"
					set(pod, condition(corev1.PodScheduled, corev1.ConditionTrue, "", "", second))
				}
			case 1:
				running(pod, int32(second), second)
			case 2:
				set(pod, condition(corev1.PodReady, corev1.ConditionTrue, "", "", second))
			}
			tr.Seen(withAllocations(pod, twoGPUs("main")))
		}
		tr.setTime(timeAt(second))
		if random.IntN(2) == 0 {
			pod.Status.Phase = corev1.PodFailed
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: ended(1, "Error", second)}}}
			tr.Seen(withAllocations(pod, twoGPUs("main")))
		}
		tr.Gone(withAllocations(pod, twoGPUs("main")), true)
		events := allocationsOf(tr.events)
		if pod.Spec.NodeName == "" {
			assert.Empty(t, events, seed)
			continue
		}
		require.Equal(t, []gpu.EventType{gpu.EventAllocated, gpu.EventReleased}, typesOf(events), seed)
		gpuTime, _ := events[1].Use.GPUTime.Get()
		bound := pod.Status.Conditions
		for i := range bound {
			if bound[i].Type == corev1.PodScheduled {
				assert.InDelta(t, 2*timeAt(second).Sub(bound[i].LastTransitionTime.Time).Seconds(), gpuTime, 1e-9, seed)
			}
		}
	}
}
