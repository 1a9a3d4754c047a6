// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// tracked is a Tracker at a time that the test sets.
type tracked struct {
	*Tracker
	events []gpu.Event
}

func newTracked() *tracked {
	t := &tracked{}
	t.Tracker = NewTracker(func(events []gpu.Event) { t.events = append(t.events, events...) })
	t.setTime(now)
	return t
}

func (t *tracked) setTime(now time.Time) { t.now = func() time.Time { return now } }

func (t *tracked) take() []brief {
	events := t.events
	t.events = nil
	return briefs(events)
}

func TestDeletedPod(t *testing.T) {
	tr := newTracked()
	pod := begun()
	tr.Seen(podOf(pod))
	tr.take()
	scheduled(pod)
	tr.Gone(podOf(pod), true)
	assert.Equal(t, []brief{
		{gpu.EventPodScheduled, timeAt(5), "ml/train-0 was scheduled to n1"}, {gpu.EventPodDeleted, now, "ml/train-0 was deleted"},
	}, tr.take(), "what its last state adds comes first")
	tr.Gone(podOf(pod), true)
	assert.Empty(t, tr.take(), "once")
	assert.Empty(t, tr.known)
}

// A pod that vanished without a watch has an unknown end.
func TestVanishedPod(t *testing.T) {
	tr := newTracked()
	tr.setTime(timeAt(10))
	tr.Seen(podOf(begun()))
	tr.Confirm(timeAt(20))
	tr.take()
	tr.setTime(now)
	tr.Gone(podOf(begun()), false)
	require.Len(t, tr.events, 1)
	assert.Equal(t, timeAt(20), tr.events[0].Pod.LastSeen)
	assert.Equal(t, []brief{{gpu.EventPodDeleted, now, "ml/train-0 is gone; the time of its deletion is unknown"}}, tr.take())
}

// Who deletes a Deployment has its ReplicaSet deleted before its pods. Their ends still are the Deployment's, and no ReplicaSet starts.
func TestOwnersThatAreDeletedFirst(t *testing.T) {
	tr := newTracked()
	tr.Listed()
	set, deployment := gpu.Owner{Kind: "ReplicaSet", Name: "web-1", UID: "r1"}, gpu.Owner{Kind: "Deployment", Name: "web", UID: "d1"}
	owned := func(pod *corev1.Pod, owners ...gpu.Owner) *Pod {
		p := podOf(pod)
		p.Owners = owners
		return p
	}
	pod := begun()
	tr.Seen(owned(pod, set, deployment))
	tr.take()
	scheduled(pod)
	tr.Seen(owned(pod, set))
	pod.Status.Phase = corev1.PodFailed
	tr.Gone(owned(pod, set), true)
	for i := range tr.events {
		require.NotNil(t, tr.events[i].Pod, "no event of a workload")
		assert.Equal(t, []gpu.Owner{set, deployment}, tr.events[i].Pod.Owners)
	}
	assert.Equal(t, []gpu.EventType{gpu.EventPodScheduled, gpu.EventPodFinished, gpu.EventPodDeleted}, typesOf(tr.events))
	tr.take()

	tr.setTime(now.Add(restart))
	tr.Tick()
	require.Equal(t, []gpu.EventType{gpu.EventWorkloadEnded}, typesOf(tr.events))
	assert.Equal(t, []gpu.Owner{set, deployment}, tr.events[0].Workload.Owners)
}

// A pod that another object has adopted, or none, has other owners.
func TestOwnersThatChange(t *testing.T) {
	set, deployment := gpu.Owner{Kind: "ReplicaSet", Name: "web-1", UID: "r1"}, gpu.Owner{Kind: "Deployment", Name: "web", UID: "d1"}
	before := &Pod{Owners: []gpu.Owner{set, deployment}}
	for _, owners := range [][]gpu.Owner{nil, {{Kind: "ReplicaSet", Name: "web-2", UID: "r2"}}, {set, {Kind: "Deployment", Name: "new", UID: "d2"}}} {
		assert.Equal(t, owners, (&Pod{Owners: owners}).after(before).Owners)
	}
}

func typesOf(events []gpu.Event) []gpu.EventType {
	all := make([]gpu.EventType, 0, len(events))
	for i := range events {
		all = append(all, events[i].Type)
	}
	return all
}
