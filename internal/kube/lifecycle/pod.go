// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Pod is what is kept of a pod that requests GPUs. It never changes after it was handed out.
type Pod struct {
	Namespace string
	Name      string
	UID       string
	Node      string
	Created   time.Time
	Owners    []gpu.Owner         // from the direct owner to the topmost one that could be read
	Labels    map[string]string   // by their full attribute names
	Requests  []gpu.ResourceCount // one for each resource
	// Partial: a claim of the pod could not be read, so Requests may lack its devices. The caller of New sets it.
	Partial bool `json:"-"`
	// Allocations are what its containers have from when it is bound to a node until it ends. The caller of New sets them.
	Allocations []Allocation
	// Snapshot is a snapshot of the object with the resource version Version; empty if it is not wanted. The caller of New sets both. They
	// are not stored.
	Snapshot   string `json:"-"`
	Version    string `json:"-"`
	Phase      string
	Reason     string // of the pod's status: Evicted
	Message    string // of the pod's status
	Conditions []Condition
	Containers []Container // of all kinds that have a status
}

// Condition is a condition of a pod.
type Condition struct {
	Type    string
	Status  string
	Reason  string
	Message string
	Since   time.Time // when the status last changed
}

const (
	maxConditions = 16   // of a pod; Kubernetes itself has about ten
	maxMessage    = 1024 // bytes of a message; the scheduler's has a few hundred
	maxText       = 253  // bytes of a name or a reason
)

// New returns what is kept of a pod. labels are keys of the labels that are kept.
func New(pod *corev1.Pod, requests []gpu.ResourceCount, owners []gpu.Owner, labels []string) *Pod {
	p := &Pod{
		Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID), Node: gpu.BoundedText(pod.Spec.NodeName, maxText),
		Created: pod.CreationTimestamp.Time, Owners: owners, Labels: selectedLabels(pod.Labels, labels), Requests: requests,
		Phase:  gpu.BoundedText(string(pod.Status.Phase), maxText),
		Reason: gpu.BoundedText(pod.Status.Reason, maxText), Message: gpu.BoundedText(pod.Status.Message, maxMessage), Containers: containers(&pod.Status),
	}
	for i := range pod.Status.Conditions[:min(len(pod.Status.Conditions), maxConditions)] {
		c := &pod.Status.Conditions[i]
		p.Conditions = append(p.Conditions, Condition{
			Type: gpu.BoundedText(string(c.Type), maxText), Status: gpu.BoundedText(string(c.Status), maxText), Reason: gpu.BoundedText(c.Reason, maxText), Message: gpu.BoundedText(c.Message, maxMessage),
			Since: c.LastTransitionTime.Time,
		})
	}
	return p
}

func selectedLabels(labels map[string]string, keys []string) map[string]string {
	var found map[string]string
	for _, key := range keys {
		if value, ok := labels[key]; ok {
			if found == nil {
				found = make(map[string]string)
			}
			found["k8s.pod.label."+key] = gpu.BoundedText(value, maxText)
		}
	}
	return found
}

// Ended reports that no container of the pod runs any more or will run again.
func (p *Pod) Ended() bool {
	return p.Phase == string(corev1.PodSucceeded) || p.Phase == string(corev1.PodFailed)
}

// condition returns a condition; nil if the pod does not have it.
func (p *Pod) condition(kind corev1.PodConditionType) *Condition {
	for i := range p.Conditions {
		if p.Conditions[i].Type == string(kind) {
			return &p.Conditions[i]
		}
	}
	return nil
}

// evicted returns the condition, or the status as one, that says why the pod was evicted; nil if it was not.
func (p *Pod) evicted() *Condition {
	if c := p.condition(corev1.DisruptionTarget); c != nil && c.Status == string(corev1.ConditionTrue) {
		return c
	}
	if p.Reason == "Evicted" {
		return &Condition{Reason: p.Reason, Message: p.Message, Since: p.ended()}
	}
	return nil
}

// unscheduled returns the condition that says why the scheduler has no node for the pod; nil if it does not say so.
func (p *Pod) unscheduled() *Condition {
	if c := p.condition(corev1.PodScheduled); c != nil && p.Node == "" && c.Status == string(corev1.ConditionFalse) {
		return c
	}
	return nil
}

// names reports what the pod is called in messages.
func (p *Pod) names() string { return p.Namespace + "/" + p.Name }
