// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// What is known outlives the process in parts; each is stored when it changes:
//
//	pod/<UID>       a knownPod
//	workload/<UID>  a knownWorkload
//	confirmed       when all known pods were last known to exist
const (
	podPart       = "pod/"
	workloadPart  = "workload/"
	confirmedPart = "confirmed"
)

// knownPod is what is stored of a pod. What is added to Pod is zero in what an older collector has stored.
type knownPod struct {
	Pod  *Pod      `json:"pod"`
	Seen time.Time `json:"seen"`
}

// knownWorkload is what is stored of a workload. Its pods are the stored pods.
type knownWorkload struct {
	Namespace string              `json:"namespace"`
	Owners    []gpu.Owner         `json:"owners"`
	Labels    map[string]string   `json:"labels,omitempty"`
	Started   time.Time           `json:"started"`
	Changed   time.Time           `json:"changed,omitzero"`
	LastSeen  time.Time           `json:"lastSeen,omitzero"`
	Pods      int64               `json:"pods"`
	Requests  []gpu.ResourceCount `json:"requests,omitempty"`
}

// Restore has the Tracker go on with what an earlier process knew, and from then on note what Checkpoint is to return. stored calls its argument with
// each part of it. It is called before the first pod is seen.
func (t *Tracker) Restore(stored func(use func(name string, data []byte) error)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed = make(map[string]struct{})
	stored(t.restore)
	now := t.now()
	for uid, k := range t.known {
		t.missing[uid] = struct{}{}
		if w := t.workloads[k.pod.workload()]; w != nil && !k.pod.Ended() {
			w.live[uid] = k.pod
		} else {
			t.workloads.join(nil, k.pod, false, now)
		}
	}
	for uid, w := range t.workloads {
		if len(w.live) == 0 && w.changed.IsZero() { // it had pods that could not be stored
			w.changed, w.lastSeen = now, t.confirmed
			if w.lastSeen.Before(w.started) {
				w.lastSeen = w.started
			}
			t.note(workloadPart + uid)
		}
	}
}

// Resume lets the Tracker go on after a time without a watch, with what it knows. It is called before the next pod is seen.
func (t *Tracker) Resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listed = false
	for uid := range t.known {
		t.missing[uid] = struct{}{}
	}
}

func (t *Tracker) restore(name string, data []byte) error {
	kind, uid, _ := strings.Cut(name, "/")
	switch kind + "/" {
	case podPart:
		var k knownPod
		if err := json.Unmarshal(data, &k); err != nil {
			return err
		}
		if k.Pod == nil || k.Pod.UID != uid {
			return errors.New("it is not a pod with this UID")
		}
		t.known[uid] = known{pod: k.Pod, lastSeen: k.Seen}
	case workloadPart:
		var k knownWorkload
		if err := json.Unmarshal(data, &k); err != nil {
			return err
		}
		if len(k.Owners) == 0 || k.Owners[len(k.Owners)-1].UID != uid {
			return errors.New("it is not a workload with this UID")
		}
		t.workloads[uid] = &workload{
			namespace: k.Namespace, owners: k.Owners, labels: k.Labels, started: k.Started, changed: k.Changed, lastSeen: k.LastSeen,
			live: make(map[string]*Pod), reported: true, pods: k.Pods, requests: k.Requests, stored: &k,
		}
	case confirmedPart + "/":
		return json.Unmarshal(data, &t.confirmed)
	default:
		return errors.New("it is neither a pod nor a workload")
	}
	return nil
}

// Missing returns the pods that an earlier process knew and that have not been seen since. When the first list has been read to its end, they are
// gone.
func (t *Tracker) Missing() []*Pod {
	t.mu.Lock()
	defer t.mu.Unlock()
	pods := make([]*Pod, 0, len(t.missing))
	for uid := range t.missing {
		pods = append(pods, t.known[uid].pod)
	}
	return pods
}

// Checkpoint calls take, while nothing else is noticed. It returns what is to be stored together with the events that take takes: the
// values of the parts that have changed since the last call, and nil for parts that are gone. Without Restore there are no parts.
func (t *Tracker) Checkpoint(take func()) map[string]any {
	t.mu.Lock()
	defer t.mu.Unlock()
	take()
	parts := make(map[string]any, len(t.changed))
	for name := range t.changed {
		switch uid := name[strings.IndexByte(name, '/')+1:]; {
		case name == confirmedPart:
			parts[name] = t.confirmed
		case strings.HasPrefix(name, podPart):
			if k, ok := t.known[uid]; ok {
				parts[name] = knownPod{Pod: k.pod, Seen: k.lastSeen}
			} else {
				parts[name] = nil
			}
		default:
			if value, changed := t.workloads[uid].toStore(); changed {
				parts[name] = value
			}
		}
	}
	clear(t.changed)
	return parts
}

// toStore returns what is to be stored of a workload, and whether that is not what is stored already. One that was not reported is found again.
func (w *workload) toStore() (value any, changed bool) {
	if w == nil {
		return nil, true
	}
	if !w.reported {
		return nil, false
	}
	k := &knownWorkload{
		Namespace: w.namespace, Owners: w.owners, Labels: w.labels, Started: w.started, Changed: w.changed, LastSeen: w.lastSeen, Pods: w.pods,
		Requests: w.requests,
	}
	changed = !reflect.DeepEqual(k, w.stored)
	w.stored = k
	return k, changed
}

// note notes parts that have changed, if what is known is stored.
func (t *Tracker) note(names ...string) {
	if t.changed == nil {
		return
	}
	for _, name := range names {
		t.changed[name] = struct{}{}
	}
}

// notePod notes a pod that has changed, and the workloads whose it was and is.
func (t *Tracker) notePod(before, pod *Pod) {
	t.note(podPart + pod.UID)
	for _, p := range []*Pod{before, pod} {
		if p != nil && p.workload() != "" {
			t.note(workloadPart + p.workload())
		}
	}
}
