// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	// settle is how long changes of a workload are summed: a Deployment that is scaled makes its pods one by one.
	settle = 5 * time.Second
	// restart is how long a workload may have no pod before it counts as ended: a workload whose pod is replaced has no pod for a moment.
	restart = 30 * time.Second
)

// maxAtOnce bounds the workloads that are reported at once: a cluster may have thousands at the start. The others follow with the next tick.
const maxAtOnce = 256

// workload is a topmost owner that has pods which request GPUs.
type workload struct {
	namespace string            // of its pods
	owners    []gpu.Owner       // of its pods, from the direct owner to the workload
	labels    map[string]string // of its pods
	started   time.Time         // when the first of its pods was created that is known
	live      map[string]*Pod   // by UID: those that have not ended
	changed   time.Time         // when the pods last changed, and the change was not reported; zero: it was
	lastSeen  time.Time         // when the last of its pods were last known to exist, if their ends were not observed

	// As it was last reported.
	reported bool
	pods     int64
	requests []gpu.ResourceCount

	stored *knownWorkload // what is stored of it; nil: nothing
}

func (w *workload) top() *gpu.Owner { return &w.owners[len(w.owners)-1] }

// workloads are the workloads of the pods that are known.
type workloads map[string]*workload // by UID

// join takes a pod as it is now, and returns the start of its workload if that is new. listed is whether all pods have been listed once.
func (all workloads) join(before, pod *Pod, listed bool, now time.Time) []gpu.Event {
	if before != nil && before.workload() != pod.workload() { // an owner above became known
		all.leave(before, time.Time{}, now)
	}
	if pod.Ended() {
		all.leave(pod, time.Time{}, now)
		return nil
	}
	uid := pod.workload()
	if uid == "" {
		return nil
	}
	w := all[uid]
	if w == nil {
		w = &workload{namespace: pod.Namespace, started: pod.Created, live: make(map[string]*Pod)}
		all[uid] = w
	}
	w.owners, w.labels = pod.Owners, pod.Labels
	if pod.Created.Before(w.started) && !w.reported {
		w.started = pod.Created
	}
	if last, known := w.live[pod.UID]; !known || !slices.Equal(last.Requests, pod.Requests) {
		w.changed = now
	}
	w.live[pod.UID] = pod
	if !listed || w.reported {
		return nil
	}
	return []gpu.Event{w.start()}
}

// leave takes a pod that has ended or is gone. lastSeen is when it was last known to exist, if its end was not observed.
func (all workloads) leave(pod *Pod, lastSeen, now time.Time) {
	w := all[pod.workload()]
	if w == nil {
		return
	}
	if _, known := w.live[pod.UID]; known {
		delete(w.live, pod.UID)
		w.changed = now
		if lastSeen.IsZero() || lastSeen.After(w.lastSeen) {
			w.lastSeen = lastSeen
		}
	}
}

// settled returns, up to a bound, the changes and the ends that have lasted long enough to be reported, the starts that were not, and the UIDs of
// the workloads.
func (all workloads) settled(now time.Time) (events []gpu.Event, due []string) {
	for uid, w := range all {
		if w.due(now) {
			due = append(due, uid)
		}
	}
	slices.Sort(due)
	due = due[:min(len(due), maxAtOnce)]
	for _, uid := range due {
		w := all[uid]
		switch {
		case len(w.live) == 0:
			delete(all, uid)
			if w.reported {
				events = append(events, w.end())
			}
		case !w.reported:
			events = append(events, w.start())
		default:
			if e, changed := w.change(); changed {
				events = append(events, e)
			}
		}
	}
	return events, due
}

// due reports whether what a workload is now has lasted long enough to be reported.
func (w *workload) due(now time.Time) bool {
	switch {
	case !w.reported:
		return true
	case len(w.live) == 0:
		return now.Sub(w.changed) >= restart
	default:
		return !w.changed.IsZero() && now.Sub(w.changed) >= settle
	}
}

func (w *workload) start() gpu.Event {
	w.report()
	e := w.event(gpu.EventWorkloadStarted, w.started, "started")
	e.UID = eventUID(w.started, w.top().UID, "workload started")
	return e
}

func (w *workload) end() gpu.Event {
	end, description := w.changed, "has ended"
	if !w.lastSeen.IsZero() {
		end, description = w.lastSeen, "has ended; the time is unknown"
	}
	e := w.event(gpu.EventWorkloadEnded, w.changed, description)
	e.Workload.Lasted, e.Workload.LastSeen = gpu.Some(max(0, end.Sub(w.started))), w.lastSeen
	return e
}

// change returns the change since the last report; false if the pods were replaced by as many that request the same.
func (w *workload) change() (gpu.Event, bool) {
	pods, requests, changed := w.pods, w.requests, w.changed
	w.report()
	if pods == w.pods && slices.Equal(requests, w.requests) {
		return gpu.Event{}, false
	}
	e := w.event(gpu.EventWorkloadChanged, changed, fmt.Sprintf("has %d pods instead of %d", w.pods, pods))
	e.Workload.Previous = gpu.Some(pods)
	return e, true
}

// report notes that what the workload is now is reported.
func (w *workload) report() {
	w.reported, w.changed = true, time.Time{}
	w.pods, w.requests = int64(len(w.live)), w.requested()
}

func (w *workload) event(kind gpu.EventType, eventTime time.Time, description string) gpu.Event {
	var pods []string
	for _, pod := range w.live {
		pods = append(pods, pod.Name)
	}
	slices.Sort(pods)
	top := w.top()
	message := fmt.Sprintf("%s %s/%s %s", top.Kind, w.namespace, top.Name, description)
	return gpu.Event{Type: kind, Time: eventTime, Message: message, Workload: &gpu.WorkloadChange{
		Namespace: w.namespace, Owners: w.owners, Labels: w.labels, Requests: w.requested(), Pods: pods,
	}}
}

// requested returns what the pods request that have not ended.
func (w *workload) requested() []gpu.ResourceCount {
	var requests []gpu.ResourceCount
	for _, pod := range w.live {
		requests = AddRequests(requests, pod.Requests)
	}
	slices.SortFunc(requests, func(a, b gpu.ResourceCount) int { return cmp.Compare(a.Resource, b.Resource) })
	return requests
}

// AddRequests returns the sums of requests by resource. A sum is not known if a part of it is not.
func AddRequests(sums, requests []gpu.ResourceCount) []gpu.ResourceCount {
	sums = slices.Clone(sums)
	for _, r := range requests {
		i := slices.IndexFunc(sums, func(sum gpu.ResourceCount) bool { return sum.Resource == r.Resource })
		if i < 0 {
			sums = append(sums, r)
			continue
		}
		sum, known := sums[i].Count.Get()
		count, more := r.Count.Get()
		sums[i].Count = gpu.Opt[int64]{}
		if known && more {
			sums[i].Count = gpu.Some(sum + count)
		}
	}
	return sums
}

// workload returns the UID of the topmost owner; empty if nothing owns the pod.
func (p *Pod) workload() string {
	if len(p.Owners) == 0 {
		return ""
	}
	return p.Owners[len(p.Owners)-1].UID
}
