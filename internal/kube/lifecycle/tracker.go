// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Tracker knows the pods that request GPUs, and reports what happens to them. Its methods may be called from any goroutine; the states of one pod
// must come in order.
type Tracker struct {
	emit func([]gpu.Event)
	now  func() time.Time

	mu        sync.Mutex
	known     map[string]known // by UID
	confirmed time.Time        // when all known pods were last known to exist
	workloads workloads
	listed    bool
	missing   map[string]struct{} // the UIDs of pods that an earlier process knew and that have not been seen since
	changed   map[string]struct{} // the names of the parts that Checkpoint is to return; nil: what is known is not stored
}

// known is a pod that was not seen to be deleted.
type known struct {
	pod      *Pod
	lastSeen time.Time // when it last changed
}

// NewTracker returns a Tracker that knows no pod. emit gets the events; it must not wait, and not call the Tracker.
func NewTracker(emit func([]gpu.Event)) *Tracker {
	return &Tracker{emit: emit, now: time.Now, known: make(map[string]known), workloads: make(workloads), missing: make(map[string]struct{})}
}

// Knows reports whether a pod was seen, by this process or an earlier one, and has not gone since.
func (t *Tracker) Knows(uid string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, known := t.known[uid]
	return known
}

// Seen takes a pod as it is now.
func (t *Tracker) Seen(pod *Pod) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	before := t.known[pod.UID].pod
	pod = pod.after(before)
	t.known[pod.UID] = known{pod: pod, lastSeen: now}
	delete(t.missing, pod.UID)
	t.notePod(before, pod)
	t.send(append(Changes(before, pod, now), t.workloads.join(before, pod, t.listed, now)...))
}

// Gone takes a pod that does not exist any more. observed is whether the API server has reported its end, with its last state; otherwise it
// vanished without a watch.
func (t *Tracker) Gone(pod *Pod, observed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.known[pod.UID]
	if !ok {
		return
	}
	now := t.now()
	var lastSeen time.Time
	if !observed {
		lastSeen = last.lastSeen
		if t.confirmed.After(lastSeen) {
			lastSeen = t.confirmed
		}
	}
	t.forget(last.pod, lastSeen, now)
	if !observed {
		t.send(Deleted(last.pod, lastSeen, now))
		return
	}
	pod = pod.after(last.pod)
	t.send(append(Changes(last.pod, pod, now), Deleted(pod, time.Time{}, now)...))
}

// Forget takes a pod that is not followed any more, although it exists. Its end is not reported.
func (t *Tracker) Forget(pod *Pod) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.known[pod.UID]; ok {
		t.forget(last.pod, time.Time{}, t.now())
	}
}

func (t *Tracker) forget(pod *Pod, lastSeen, now time.Time) {
	delete(t.known, pod.UID)
	delete(t.missing, pod.UID)
	t.workloads.leave(pod, lastSeen, now)
	t.notePod(nil, pod)
}

// Listed notes that the first list of pods has been read to its end, and that the missing ones were reported. Workloads are reported from
// then on: the workloads of the list with all their pods.
func (t *Tracker) Listed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listed = true
}

// Tick reports workloads whose changes have lasted long enough, up to a bound. It is called about once a second.
func (t *Tracker) Tick() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.listed {
		return
	}
	events, due := t.workloads.settled(t.now())
	for _, uid := range due {
		t.note(workloadPart + uid)
	}
	t.send(events)
}

// Confirm notes that the cluster could be read at a time, so that all known pods existed then: not those that are missing.
func (t *Tracker) Confirm(readTime time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.missing) > 0 {
		return
	}
	t.confirmed = readTime
	t.note(confirmedPart)
}

func (t *Tracker) send(events []gpu.Event) {
	if len(events) > 0 {
		t.emit(events)
	}
}
