// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// disk is what is stored of a Tracker, by name.
type disk map[string][]byte

// store stores what has changed, with the events up to it, which it returns.
func (d disk) store(t *testing.T, tr *tracked) []gpu.Event {
	t.Helper()
	var events []gpu.Event
	for name, value := range tr.Checkpoint(func() { events, tr.events = tr.events, nil }) {
		if value == nil {
			delete(d, name)
			continue
		}
		data, err := json.Marshal(value)
		require.NoError(t, err)
		d[name] = data
	}
	return events
}

// next returns the Tracker of the next process.
func (d disk) next(t *testing.T) *tracked {
	t.Helper()
	tr := newTracked()
	tr.Restore(func(use func(string, []byte) error) {
		for name, data := range d {
			require.NoError(t, use(name, data), name)
		}
	})
	return tr
}

// list has a Tracker see all pods that there are, as the first list does.
func (t *tracked) list(pods ...*corev1.Pod) {
	for _, pod := range pods {
		t.Seen(podOf(pod))
	}
	for _, pod := range t.Missing() {
		t.Gone(pod, false)
	}
	t.Listed()
}

// A pod that ended without a watch is reported with the time at which it was last known to exist; a pod that is still there is not reported
// as new.
func TestPodsOutliveTheProcess(t *testing.T) {
	stored, tr := disk{}, disk{}.next(t)
	stays, changes, goes := replica("stays"), replica("changes"), replica("goes")
	tr.setTime(timeAt(10))
	tr.list(stays, changes, goes)
	tr.Confirm(timeAt(20))
	tr.Tick()
	before := stored.store(t, tr)
	require.Len(t, before, 4, "three pods and their workload")
	assert.Len(t, stored, 5, "and the time")
	assert.Empty(t, stored.store(t, tr))

	tr = stored.next(t)
	tr.setTime(timeAt(30))
	tr.Confirm(timeAt(29)) // the list is not read to its end
	scheduled(changes)
	tr.list(stays, changes)
	require.Equal(t, []brief{
		{gpu.EventPodScheduled, timeAt(5), "ml/changes was scheduled to n1"},
		{gpu.EventPodDeleted, timeAt(30), "ml/goes is gone; the time of its deletion is unknown"},
	}, briefs(tr.events))
	assert.Equal(t, timeAt(20), tr.events[1].Pod.LastSeen.UTC())
	uid := tr.events[1].UID
	stored.store(t, tr)
	assert.NotContains(t, stored, "pod/uid-goes")

	tr = stored.next(t)
	tr.setTime(timeAt(40))
	tr.list(stays, changes)
	tr.Tick()
	events := tr.events
	require.Equal(t, []gpu.EventType{gpu.EventWorkloadChanged}, typesOf(events), "it has another number of pods")
	assert.Equal(t, gpu.Some[int64](3), events[0].Workload.Previous)
	assert.NotEmpty(t, uid)
}

// A change that was not stored is found again, with the same uid if the API has its time.
func TestChangeThatWasNotStored(t *testing.T) {
	stored, tr := disk{}, disk{}.next(t)
	pod := replica("a")
	tr.list(pod)
	stored.store(t, tr)
	scheduled(pod)
	tr.Seen(podOf(pod))
	tr.Gone(podOf(pod), true)
	first := tr.events

	tr = stored.next(t)
	tr.list(pod)
	require.Equal(t, []gpu.EventType{gpu.EventPodScheduled}, typesOf(tr.events))
	assert.Equal(t, first[0].UID, tr.events[0].UID)
	tr = stored.next(t)
	tr.list()
	require.Equal(t, []gpu.EventType{gpu.EventPodDeleted}, typesOf(tr.events))
	assert.Equal(t, first[len(first)-1].UID, tr.events[0].UID)
}

// The end of a workload that had ended before the kill is reported, and so is the end of a workload that vanished.
func TestWorkloadThatEndedMeanwhile(t *testing.T) {
	stored, tr := disk{}, disk{}.next(t)
	tr.list(replica("a"))
	tr.Tick()
	tr.Gone(podOf(replica("a")), true)
	stored.store(t, tr)

	tr = stored.next(t)
	tr.list()
	tr.setTime(now.Add(restart))
	tr.Tick()
	require.Equal(t, []brief{{gpu.EventWorkloadEnded, now, "Job ml/train has ended"}}, briefs(tr.events))
	stored.store(t, tr)
	assert.Empty(t, stored, "nothing is left")

	tr = stored.next(t)
	tr.setTime(timeAt(10))
	tr.list(replica("a"), replica("b"))
	tr.Tick()
	tr.Confirm(timeAt(20))
	stored.store(t, tr)
	tr = stored.next(t)
	tr.setTime(now)
	tr.list()
	stored.store(t, tr)
	tr = stored.next(t)
	tr.setTime(now.Add(restart))
	tr.list()
	tr.Tick()
	require.Equal(t, []brief{{gpu.EventWorkloadEnded, now, "Job ml/train has ended; the time is unknown"}}, utc(briefs(tr.events)))
	assert.Equal(t, timeAt(20), tr.events[0].Workload.LastSeen.UTC())
	assert.Equal(t, gpu.Some(19*time.Second), tr.events[0].Workload.Lasted, "at least")
}

// A workload whose pods could not be stored has ended at a time that is not known, and not in the year 1.
func TestWorkloadWithoutStoredPods(t *testing.T) {
	stored, tr := disk{}, disk{}.next(t)
	tr.setTime(timeAt(10))
	tr.list(replica("a"))
	tr.Tick()
	tr.Confirm(timeAt(20))
	stored.store(t, tr)
	maps.DeleteFunc(stored, func(name string, _ []byte) bool { return strings.HasPrefix(name, podPart) })
	tr = stored.next(t)
	tr.list()
	tr.setTime(now.Add(restart))
	tr.Tick()
	require.Equal(t, []brief{{gpu.EventWorkloadEnded, now, "Job ml/train has ended; the time is unknown"}}, utc(briefs(tr.events)))
	assert.Equal(t, timeAt(20), tr.events[0].Workload.LastSeen.UTC())
}

// utc returns events with times as now has them.
func utc(events []brief) []brief {
	for i := range events {
		events[i].Time = events[i].Time.UTC()
	}
	return events
}

// A pod that is not followed any more is not reported as gone.
func TestForgottenPod(t *testing.T) {
	stored, tr := disk{}, disk{}.next(t)
	tr.list(replica("a"))
	stored.store(t, tr)
	tr = stored.next(t)
	for _, pod := range tr.Missing() {
		tr.Forget(pod)
	}
	tr.Listed()
	assert.Empty(t, stored.store(t, tr))
	assert.NotContains(t, stored, "pod/uid-a")
}

func TestGarbageOfATracker(t *testing.T) {
	for name, data := range map[string]string{
		"pod/a": `{"pod":{"UID":"b"}}`, "pod/b": `{}`, "pod/c": `[`, "workload/a": `{}`, "workload/b": `{"owners":[{"UID":"c"}]}`, "workload/c": `1`,
		"confirmed": `{}`, "other": `{}`, "": ``,
	} {
		tr := newTracked()
		tr.Restore(func(use func(string, []byte) error) { assert.Error(t, use(name, []byte(data)), name) })
		assert.Empty(t, tr.known, name)
		assert.Empty(t, tr.Tracker.workloads, name)
	}
}

// Pods come, change and go at random, also while no process runs, and the process is killed at random points: each pod that a process knew has one
// beginning and one end, and each workload, too; nothing is reported twice with two uids.
func TestRandomLivesAndKills(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 2))
		stored, arrived := disk{}, map[string]gpu.Event{}
		pods := map[string]*corev1.Pod{}
		tr := stored.next(t)
		number, clock := 0, now
		watching := false
		arrive := func(events []gpu.Event) {
			for _, e := range events {
				if e.UID != "" { // the others get theirs when they are stored
					arrived[e.UID] = e
				} else {
					number++
					arrived[strconv.Itoa(number)] = e
				}
			}
		}
		for range 60 {
			clock = clock.Add(time.Duration(random.IntN(10)) * time.Second)
			tr.setTime(clock)
			switch random.IntN(6) {
			case 0, 1:
				number++
				pod := replica(fmt.Sprint("p", number))
				pods[pod.Name] = pod
				if watching {
					tr.Seen(podOf(pod))
				}
			case 2, 3:
				if len(pods) == 0 {
					continue
				}
				names := slices.Sorted(maps.Keys(pods))
				pod := pods[names[random.IntN(len(names))]]
				delete(pods, pod.Name)
				if watching {
					tr.Gone(podOf(pod), true)
				}
			case 4:
				watching = true
				tr.list(slices.Collect(maps.Values(pods))...)
				tr.Tick()
				arrive(stored.store(t, tr))
			case 5:
				watching = false
				stored = maps.Clone(stored)
				tr = stored.next(t)
			}
		}
		tr.setTime(clock)
		tr.list(slices.Collect(maps.Values(pods))...)
		arrive(stored.store(t, tr))
		created, deleted := map[string]int{}, map[string]int{}
		for _, e := range arrived {
			switch e.Type {
			case gpu.EventPodCreated:
				created[e.Pod.Name]++
			case gpu.EventPodDeleted:
				deleted[e.Pod.Name]++
			}
		}
		for name, n := range created {
			assert.Equal(t, 1, n, "%d: %s", seed, name)
			if _, there := pods[name]; !there {
				assert.Equal(t, 1, deleted[name], "%d: %s", seed, name)
			}
		}
		for name, n := range deleted {
			assert.Equal(t, 1, n, "%d: %s", seed, name)
			assert.Equal(t, 1, created[name], "%d: %s", seed, name)
		}
		for name := range pods {
			assert.Equal(t, 1, created[name], "%d: %s", seed, name)
		}
	}
}

// Whatever the storage has, nothing panics, and what was restored can be stored again.
func FuzzRestore(f *testing.F) {
	f.Add("pod/uid-a", []byte(`{"pod":{"UID":"uid-a","Name":"a","Phase":"Running","Owners":[{"UID":"j1"}],"Conditions":[{}],"Containers":[{}]}}`))
	f.Add("workload/j1", []byte(`{"owners":[{"UID":"j1"}],"pods":1}`))
	f.Add("confirmed", []byte(`"2026-01-02T03:04:05Z"`))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		tr := newTracked()
		tr.Restore(func(use func(string, []byte) error) {
			_ = use(name, data)
			_ = use("pod/uid-b", []byte(`{"pod":{"UID":"uid-b","Owners":[{"UID":"j1"}]}}`))
		})
		tr.list(replica("a"))
		tr.setTime(now.Add(restart))
		tr.Tick()
		stored := disk{}
		stored.store(t, tr)
		require.NotPanics(t, func() { stored.next(t) })
	})
}

// A pod whose claims cannot be read after a restart requests and has what it did before.
func TestPodsOfUnreadableClaims(t *testing.T) {
	stored, tr := disk{}, disk{}.next(t)
	pod := begun()
	scheduled(pod)
	observed := withAllocations(pod, twoGPUs("main"), claimed("main", gpu.Some[int64](4)))
	tr.Seen(observed)
	require.Len(t, allocationsOf(stored.store(t, tr)), 2)

	tr = stored.next(t)
	require.True(t, tr.Knows("p1"))
	unread := withAllocations(pod, twoGPUs("main"))
	unread.Requests, unread.Partial = []gpu.ResourceCount{{Resource: "other"}}, true
	tr.Seen(unread)
	assert.Empty(t, tr.events)
	missing := *unread
	tr.Gone(&missing, true)
	require.Equal(t, []gpu.EventType{gpu.EventReleased, gpu.EventReleased, gpu.EventPodDeleted}, typesOf(tr.events))
	assert.Equal(t, append(slices.Clone(observed.Requests), gpu.ResourceCount{Resource: "other"}), tr.events[2].Pod.Requests)
	assert.False(t, tr.Knows("p1"))

	tr = stored.next(t)
	whole := withAllocations(pod, twoGPUs("main"))
	whole.Requests = whole.Requests[:0]
	tr.Seen(whole)
	assert.Empty(t, tr.known["p1"].pod.Requests, "all of its claims are known")
}
