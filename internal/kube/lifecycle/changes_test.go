// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func timeAt(second int) time.Time { return time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC) }

// now is when changes are noticed.
var now = timeAt(50)

func begun() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ml", Name: "train-0", UID: "p1", CreationTimestamp: metav1.NewTime(timeAt(1)), Labels: map[string]string{"team": "vision", "other": "x"},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus, reason, message string, second int) corev1.PodCondition {
	return corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(timeAt(second))}
}

func set(pod *corev1.Pod, c corev1.PodCondition) {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == c.Type {
			pod.Status.Conditions[i] = c
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, c)
}

func unscheduled(pod *corev1.Pod, message string) {
	set(pod, condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", message, 2))
}

func scheduled(pod *corev1.Pod) {
	pod.Spec.NodeName = "n1"
	set(pod, condition(corev1.PodScheduled, corev1.ConditionTrue, "", "", 5))
}

func running(pod *corev1.Pod, restarts int32, second int) {
	pod.Status.Phase = corev1.PodRunning
	status := corev1.ContainerStatus{
		Name: "main", ContainerID: "containerd://c1", RestartCount: restarts,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(timeAt(second))}},
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
}

func ended(code int32, reason string, second int) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, ContainerID: "containerd://c1", StartedAt: metav1.NewTime(timeAt(7)), FinishedAt: metav1.NewTime(timeAt(second)),
	}
}

func podOf(pod *corev1.Pod) *Pod {
	return New(pod, []gpu.ResourceCount{{Resource: "nvidia.com/gpu", Count: gpu.Some[int64](3)}}, []gpu.Owner{{Kind: "Job", Name: "train", UID: "j1"}}, []string{"team"})
}

// story is a pod whose states are followed.
type story struct {
	pod    *corev1.Pod
	before *Pod
}

func (s *story) next(t *testing.T, change func(*corev1.Pod)) []gpu.Event {
	t.Helper()
	if change != nil {
		change(s.pod)
	}
	after := podOf(s.pod)
	events := Changes(s.before, after, now)
	s.before = after
	assert.Empty(t, Changes(after, podOf(s.pod), now), "the same state twice")
	return events
}

type brief struct {
	Type    gpu.EventType
	Time    time.Time
	Message string
}

func briefs(events []gpu.Event) []brief {
	var all []brief
	for i := range events {
		all = append(all, brief{events[i].Type, events[i].Time, events[i].Message})
	}
	return all
}

func TestLifeOfAPod(t *testing.T) {
	s := &story{pod: begun()}
	events := s.next(t, nil)
	assert.Equal(t, []brief{{gpu.EventPodCreated, timeAt(1), "ml/train-0 was created and requests 3 nvidia.com/gpu"}}, briefs(events))
	assert.Equal(t, &gpu.PodChange{
		Namespace: "ml", Name: "train-0", UID: "p1", Phase: "Pending", Labels: map[string]string{"k8s.pod.label.team": "vision"},
		Owners: []gpu.Owner{{Kind: "Job", Name: "train", UID: "j1"}}, Requests: []gpu.ResourceCount{{Resource: "nvidia.com/gpu", Count: gpu.Some[int64](3)}},
	}, events[0].Pod)

	events = s.next(t, func(p *corev1.Pod) { unscheduled(p, "0/5 nodes are available: 5 Insufficient nvidia.com/gpu.") })
	assert.Equal(t, []brief{{gpu.EventPodPending, timeAt(2), "ml/train-0 is not scheduled: 0/5 nodes are available: 5 Insufficient nvidia.com/gpu."}}, briefs(events))
	assert.Equal(t, "Unschedulable", events[0].Pod.Reason)
	assert.Empty(t, s.next(t, func(p *corev1.Pod) { unscheduled(p, "0/12 nodes are available: 12 Insufficient nvidia.com/gpu.") }), "only numbers")
	twice := "0/12 nodes are available: 10 Insufficient nvidia.com/gpu, 2 node(s) had untolerated taint. preemption: 12 No preemption victims found."
	turned := "0/12 nodes are available: 3 node(s) had untolerated taint, 9 Insufficient nvidia.com/gpu. preemption: 12 No preemption victims found."
	assert.Len(t, s.next(t, func(p *corev1.Pod) { unscheduled(p, twice) }), 1)
	assert.Empty(t, s.next(t, func(p *corev1.Pod) { unscheduled(p, turned) }), "the scheduler sorts its reasons with their numbers")
	events = s.next(t, func(p *corev1.Pod) { unscheduled(p, "0/12 nodes are available: 12 node(s) had untolerated taint") })
	assert.Equal(t, []brief{{gpu.EventPodPending, now, "ml/train-0 is not scheduled: 0/12 nodes are available: 12 node(s) had untolerated taint"}}, briefs(events))

	events = s.next(t, scheduled)
	assert.Equal(t, []brief{{gpu.EventPodScheduled, timeAt(5), "ml/train-0 was scheduled to n1"}}, briefs(events))
	assert.Equal(t, "n1", events[0].Pod.Node)

	assert.Empty(t, s.next(t, func(p *corev1.Pod) {
		set(p, condition(corev1.PodReady, corev1.ConditionFalse, "ContainersNotReady", "", 6))
	}), "a condition begins as false")
	events = s.next(t, func(p *corev1.Pod) {
		running(p, 0, 7)
		set(p, condition(corev1.PodReady, corev1.ConditionTrue, "", "", 8))
	})
	assert.Equal(t, []brief{{gpu.EventPodCondition, timeAt(8), "ml/train-0: Ready is True"}, {gpu.EventPodPhase, timeAt(7), "ml/train-0 is Running"}}, briefs(events))
	assert.Equal(t, &gpu.PodCondition{Type: "Ready", Status: "True"}, events[0].Pod.Condition)
	assert.Equal(t, "Pending", events[1].Pod.PreviousPhase)

	events = s.next(t, func(p *corev1.Pod) {
		running(p, 1, 20)
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated = ended(137, "OOMKilled", 19)
	})
	assert.Equal(t, []brief{{gpu.EventPodRestarted, timeAt(20), "ml/train-0: container main restarted (1 times) after exit code 137: OOMKilled"}}, briefs(events))
	assert.Equal(t, &gpu.ContainerChange{Name: "main", ID: "c1", Restarts: 1, Reason: "OOMKilled", ExitCode: gpu.Some[int64](137)}, events[0].Pod.Container)

	events = s.next(t, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodSucceeded
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: ended(0, "Completed", 30)}
	})
	assert.Equal(t, []brief{{gpu.EventPodFinished, timeAt(30), "ml/train-0 has succeeded"}}, briefs(events))
}

func TestPodThatFails(t *testing.T) {
	s := &story{pod: begun()}
	s.next(t, scheduled)
	s.next(t, func(p *corev1.Pod) { running(p, 0, 7) })
	events := s.next(t, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: ended(1, "Error", 20)}
		killed := corev1.ContainerStatus{Name: "other", State: corev1.ContainerState{Terminated: ended(137, "OOMKilled", 30)}}
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, killed)
	})
	assert.Equal(t, []brief{{gpu.EventPodFinished, timeAt(30), "ml/train-0 has failed: container other ended with exit code 137: OOMKilled"}}, briefs(events))
	assert.Equal(t, "OOMKilled", events[0].Pod.Container.Reason)
}

func TestEvictedPod(t *testing.T) {
	s := &story{pod: begun()}
	s.next(t, scheduled)
	events := s.next(t, func(p *corev1.Pod) {
		set(p, condition(corev1.DisruptionTarget, corev1.ConditionTrue, "PreemptionByScheduler", "preempted by a pod with higher priority", 9))
	})
	assert.Equal(t, []brief{{gpu.EventPodEvicted, timeAt(9), "ml/train-0 is evicted: preempted by a pod with higher priority"}}, briefs(events))
	assert.Equal(t, "PreemptionByScheduler", events[0].Pod.Reason)

	old := &story{pod: begun()}
	old.next(t, scheduled)
	events = old.next(t, func(p *corev1.Pod) { // as old kubelets do
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
	})
	assert.Equal(t, []brief{
		{gpu.EventPodEvicted, now, "ml/train-0 is evicted: The node was low on resource: memory."},
		{gpu.EventPodFinished, now, "ml/train-0 has failed: The node was low on resource: memory."},
	}, briefs(events))
}

// A pod that was not known has the past that its object has, and a record of the same event always has the same uid.
func TestUnknownPod(t *testing.T) {
	pod := begun()
	scheduled(pod)
	running(pod, 2, 20)
	pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = ended(1, "Error", 19)
	events := Changes(nil, podOf(pod), now)
	assert.Equal(t, []brief{
		{gpu.EventPodCreated, timeAt(1), "ml/train-0 was created and requests 3 nvidia.com/gpu"},
		{gpu.EventPodScheduled, timeAt(5), "ml/train-0 was scheduled to n1"},
		{gpu.EventPodRestarted, timeAt(20), "ml/train-0: container main restarted (2 times) after exit code 1: Error"},
		{gpu.EventPodPhase, timeAt(7), "ml/train-0 is Running"},
	}, briefs(events))
	again := Changes(nil, podOf(pod), timeAt(55))
	uids := map[string]bool{}
	for i := range events {
		assert.Equal(t, events[i].UID, again[i].UID)
		uids[events[i].UID] = true
	}
	assert.Len(t, uids, len(events))

	s := &story{pod: begun()}
	first := s.next(t, nil)
	require.Len(t, first, 1)
	assert.Equal(t, events[0].UID, first[0].UID, "also when it was followed from its creation")
}

// An event that happened twice has two UIDs, even if the API has no time of it.
func TestUIDsOfRepeatedChanges(t *testing.T) {
	pod := begun()
	seen := map[string]int{}
	var before *Pod
	for i := range 4 {
		unscheduled(pod, []string{"Insufficient nvidia.com/gpu", "untolerated taint"}[i%2])
		pod.Status.Conditions[0].LastTransitionTime = pod.CreationTimestamp // of the same second
		set(pod, corev1.PodCondition{Type: "example.com/gate", Status: []corev1.ConditionStatus{"True", "False"}[i%2]})
		after := podOf(pod)
		events := Changes(before, after, timeAt(10+i))
		for j := range events {
			seen[events[j].UID]++
		}
		before = after
	}
	assert.Len(t, seen, 8, "created, 4 times pending, 3 times the condition")
	for uid, times := range seen {
		assert.Equal(t, 1, times, uid)
	}
}

// A change has the same UID after a restart of the collector, even if the API does not have its time any more.
func TestUIDsOfAPodThatRestarts(t *testing.T) {
	uids := func(events []gpu.Event) map[gpu.EventType]string {
		got := map[gpu.EventType]string{}
		for i := range events {
			got[events[i].Type] = events[i].UID
		}
		return got
	}
	s := &story{pod: begun()}
	s.next(t, scheduled)
	first := uids(s.next(t, func(p *corev1.Pod) { running(p, 0, 7) }))
	for i := range 3 {
		s.next(t, func(p *corev1.Pod) {
			running(p, int32(i), 10+10*i)
			p.Status.ContainerStatuses[0].LastTerminationState.Terminated = ended(1, "Error", 9+10*i)
		})
	}
	restarted := uids(s.next(t, func(p *corev1.Pod) {
		running(p, 3, 40)
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated = ended(1, "Error", 39)
	}))
	last := ended(1, "Error", 45)
	last.StartedAt = metav1.NewTime(timeAt(40))
	assert.Empty(t, s.next(t, func(p *corev1.Pod) {
		c := &p.Status.ContainerStatuses[0]
		c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		c.LastTerminationState.Terminated = last
	}))
	again := uids(Changes(nil, podOf(s.pod), now))
	assert.Equal(t, first[gpu.EventPodPhase], again[gpu.EventPodPhase])
	assert.Equal(t, restarted[gpu.EventPodRestarted], again[gpu.EventPodRestarted])
}

// What a kubelet or a scheduler writes is bounded, and valid UTF-8.
func TestBounds(t *testing.T) {
	pod := begun()
	long := strings.Repeat("\xff", 1<<16)
	unscheduled(pod, long)
	for range 1000 {
		pod.Status.Conditions = append(pod.Status.Conditions, condition("X", "True", long, long, 1))
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: long, ContainerID: long})
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{Name: long})
	}
	before := podOf(pod)
	assert.Len(t, before.Conditions, maxConditions)
	assert.Len(t, before.Containers, maxContainers)
	for _, c := range before.Conditions {
		assert.LessOrEqual(t, len(c.Message), maxMessage)
		assert.LessOrEqual(t, len(c.Reason), maxText)
	}
	assert.LessOrEqual(t, len(before.Containers[0].Name), maxText)
	assert.LessOrEqual(t, len(before.Containers[0].ID), maxText)
}
