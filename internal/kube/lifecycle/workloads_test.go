// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func (t *tracked) workloads() []gpu.Event {
	var result []gpu.Event
	for i := range t.events {
		if t.events[i].Workload != nil {
			result = append(result, t.events[i])
		}
	}
	t.events = nil
	return result
}

func replica(name string) *corev1.Pod {
	pod := begun()
	pod.Name, pod.UID = name, types.UID("uid-"+name)
	return pod
}

func TestLifeOfAWorkload(t *testing.T) {
	tr := newTracked()
	tr.Listed()
	tr.Seen(podOf(replica("a")))
	events := tr.workloads()
	assert.Equal(t, []brief{{gpu.EventWorkloadStarted, timeAt(1), "Job ml/train started"}}, briefs(events), "at once")
	assert.Equal(t, &gpu.WorkloadChange{
		Namespace: "ml", Owners: []gpu.Owner{{Kind: "Job", Name: "train", UID: "j1"}}, Labels: map[string]string{"k8s.pod.label.team": "vision"},
		Requests: []gpu.ResourceCount{{Resource: "nvidia.com/gpu", Count: gpu.Some[int64](3)}}, Pods: []string{"a"},
	}, events[0].Workload)

	tr.Seen(podOf(replica("b")))
	tr.Seen(podOf(replica("c")))
	tr.Tick()
	assert.Empty(t, tr.workloads(), "further pods may come")
	tr.setTime(now.Add(settle))
	tr.Tick()
	events = tr.workloads()
	assert.Equal(t, []brief{{gpu.EventWorkloadChanged, now, "Job ml/train has 3 pods instead of 1"}}, briefs(events))
	assert.Equal(t, []gpu.ResourceCount{{Resource: "nvidia.com/gpu", Count: gpu.Some[int64](9)}}, events[0].Workload.Requests)
	assert.Equal(t, []string{"a", "b", "c"}, events[0].Workload.Pods)
	assert.Equal(t, gpu.Some[int64](1), events[0].Workload.Previous)

	// One pod is replaced by another.
	tr.Gone(podOf(replica("a")), true)
	tr.Seen(podOf(replica("d")))
	tr.setTime(now.Add(3 * settle))
	tr.Tick()
	assert.Empty(t, tr.workloads(), "as many as before")

	done := replica("b")
	done.Status.Phase = corev1.PodSucceeded
	tr.Seen(podOf(done))
	tr.Gone(podOf(replica("c")), true)
	tr.Gone(podOf(replica("d")), true)
	tr.Tick()
	tr.setTime(now.Add(3*settle + restart))
	assert.Empty(t, tr.workloads(), "a pod may take their place")
	tr.Tick()
	events = tr.workloads()
	assert.Equal(t, []brief{{gpu.EventWorkloadEnded, now.Add(3 * settle), "Job ml/train has ended"}}, briefs(events))
	assert.Equal(t, gpu.Some(now.Add(3*settle).Sub(timeAt(1))), events[0].Workload.Lasted)
	assert.Empty(t, events[0].Workload.Pods)
	tr.setTime(now.Add(time.Hour))
	tr.Tick()
	assert.Empty(t, tr.workloads(), "once")
	assert.Empty(t, tr.Tracker.workloads)
}

// The workloads of the first list start with all their pods.
func TestWorkloadsAtStart(t *testing.T) {
	tr := newTracked()
	tr.Seen(podOf(replica("a")))
	tr.Seen(podOf(replica("b")))
	tr.Tick()
	assert.Empty(t, tr.workloads())
	tr.Listed()
	tr.Tick()
	events := tr.workloads()
	require.Len(t, events, 1)
	assert.Equal(t, []string{"a", "b"}, events[0].Workload.Pods)
}

// More workloads than are reported at once are reported one tick after the other.
func TestManyWorkloadsAtStart(t *testing.T) {
	tr := newTracked()
	for i := range 2*maxAtOnce + 1 {
		pod := podOf(replica(strconv.Itoa(i)))
		pod.Owners = []gpu.Owner{{Kind: "Job", Name: pod.Name, UID: pod.Name}}
		tr.Seen(pod)
	}
	tr.take()
	tr.Listed()
	var reported []int
	for range 4 {
		tr.Tick()
		reported = append(reported, len(tr.workloads()))
	}
	assert.Equal(t, []int{maxAtOnce, maxAtOnce, 1, 0}, reported)
}

// A pod whose Deployment becomes known later belongs to that alone.
func TestWorkloadThatBecomesKnown(t *testing.T) {
	tr := newTracked()
	tr.Listed()
	pod := podOf(replica("a"))
	tr.Seen(pod)
	tr.workloads()
	later := *pod
	later.Owners = append([]gpu.Owner{}, pod.Owners...)
	later.Owners = append(later.Owners, gpu.Owner{Kind: "CronJob", Name: "night", UID: "c1"})
	tr.Seen(&later)
	assert.Equal(t, []brief{{gpu.EventWorkloadStarted, timeAt(1), "CronJob ml/night started"}}, briefs(tr.workloads()))
	tr.setTime(now.Add(restart))
	tr.Tick()
	assert.Equal(t, []brief{{gpu.EventWorkloadEnded, now, "Job ml/train has ended"}}, briefs(tr.workloads()))
}
