// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// changes collects what happened to a pod.
type changes struct {
	pod    *Pod
	now    time.Time // when it was noticed
	events []gpu.Event
}

// Changes returns what happened to a pod between two states, in order. before is nil if the pod was not known: then it is what is known of its
// past. now is the time of what the API has no time of.
func Changes(before, pod *Pod, now time.Time) []gpu.Event {
	c := &changes{pod: pod, now: now}
	last := before
	if before == nil {
		c.created()
		last = &Pod{Phase: string(corev1.PodPending), Conditions: pod.Conditions} // the steps up to here are not known one by one
	}
	c.pending(before)
	if pod.Node != "" && last.Node == "" {
		c.add(gpu.EventPodScheduled, pod.scheduled(), pod.names()+" was scheduled to "+pod.Node, gpu.PodChange{})
	}
	allocations := pod.givenSince(last)
	c.allocated(allocations)
	c.conditions(last)
	c.restarts(last)
	if e := pod.evicted(); e != nil && (before == nil || before.evicted() == nil) {
		c.add(gpu.EventPodEvicted, e.Since, because(pod.names()+" is evicted", cmp.Or(e.Message, e.Reason)), gpu.PodChange{Reason: e.Reason})
	}
	c.phase(last)
	switch {
	case pod.Ended() && !last.Ended():
		c.released(pod.Allocations, pod.ended(), true)
	case pod.Ended():
		c.released(allocations, pod.ended(), true)
	}
	if pod.Snapshot != "" && (before == nil || pod.Snapshot != before.Snapshot) {
		c.add(gpu.EventPodSnapshot, time.Time{}, pod.Snapshot, gpu.PodChange{}, pod.Version)
	}
	return c.events
}

// Deleted returns that a pod is gone. lastSeen is when it was last known to exist, if its end was not observed; zero if the API server has
// reported it.
func Deleted(pod *Pod, lastSeen, now time.Time) []gpu.Event {
	c := &changes{pod: pod, now: now}
	if !pod.Ended() {
		c.released(pod.Allocations, lastSeen, lastSeen.IsZero())
	}
	message := pod.names() + " was deleted"
	if !lastSeen.IsZero() {
		message = pod.names() + " is gone; the time of its deletion is unknown"
	}
	c.add(gpu.EventPodDeleted, time.Time{}, message, gpu.PodChange{LastSeen: lastSeen})
	return c.events
}

// words are part of what identifies a record: they never change.
var words = map[gpu.EventType]string{
	gpu.EventPodCreated: "created", gpu.EventPodPending: "pending", gpu.EventPodScheduled: "scheduled", gpu.EventPodPhase: "phase",
	gpu.EventPodCondition: "condition", gpu.EventPodRestarted: "restarted", gpu.EventPodFinished: "finished", gpu.EventPodEvicted: "evicted",
	gpu.EventPodDeleted: "deleted", gpu.EventAllocated: "allocated", gpu.EventReleased: "released", gpu.EventPodSnapshot: "snapshot",
}

// add adds an event. eventTime is the API's time of it, zero if it is missing. identity distinguishes it from other events of the type
// of the same pod.
func (c *changes) add(kind gpu.EventType, eventTime time.Time, message string, change gpu.PodChange, identity ...string) {
	p := c.pod
	change.Namespace, change.Name, change.UID, change.Node = p.Namespace, p.Name, p.UID, p.Node
	change.Owners, change.Labels, change.Requests = p.Owners, p.Labels, p.Requests
	change.Phase = p.Phase
	e := gpu.Event{Type: kind, Time: eventTime, Message: message, Pod: &change}
	if eventTime.IsZero() {
		e.Time = c.now
	}
	e.UID = eventUID(c.timeOfUID(kind, eventTime), append([]string{p.UID, words[kind]}, identity...)...)
	c.events = append(c.events, e)
}

// timeOfUID returns the time in the UID of an event. If possible, it is the same whenever the event is found.
func (c *changes) timeOfUID(kind gpu.EventType, eventTime time.Time) time.Time {
	switch {
	case kind == gpu.EventPodPhase: // after two restarts the API does not have the start of the pod any more
		return c.pod.Created
	case !eventTime.IsZero():
		return eventTime
	case kind == gpu.EventPodPending || kind == gpu.EventPodCondition: // the same may come again
		return c.now
	default:
		return c.pod.Created
	}
}

func (c *changes) created() {
	var requests []string
	for _, r := range c.pod.Requests {
		text := r.Resource
		if count, ok := r.Count.Get(); ok {
			text = fmt.Sprint(count, " ", text)
		}
		requests = append(requests, text)
	}
	message := c.pod.names() + " was created"
	if len(requests) > 0 { // not if only init containers request a GPU that end before the others start
		message += " and requests " + strings.Join(requests, ", ")
	}
	c.add(gpu.EventPodCreated, c.pod.Created, message, gpu.PodChange{})
}

// pending adds why the scheduler has no node for the pod, if that is new.
func (c *changes) pending(before *Pod) {
	now := c.pod.unscheduled()
	if now == nil {
		return
	}
	if before != nil {
		if last := before.unscheduled(); last != nil && last.Reason == now.Reason && wordsOf(last.Message) == wordsOf(now.Message) {
			return // the numbers of nodes change all the time, and with them the order of what the scheduler says
		}
	}
	start := now.Since
	if before != nil && before.unscheduled() != nil {
		start = time.Time{} // the condition has the time since when the pod is pending at all
	}
	c.add(gpu.EventPodPending, start, because(c.pod.names()+" is not scheduled", cmp.Or(now.Message, now.Reason)), gpu.PodChange{Reason: now.Reason},
		now.Reason, wordsOf(now.Message))
}

// conditions adds the conditions that changed, without those that have an event of their own.
func (c *changes) conditions(before *Pod) {
	for i := range c.pod.Conditions {
		now := &c.pod.Conditions[i]
		kind := corev1.PodConditionType(now.Type)
		if kind == corev1.PodScheduled || kind == corev1.DisruptionTarget {
			continue
		}
		last := before.condition(kind)
		if last == nil && now.Status != string(corev1.ConditionTrue) || last != nil && last.Status == now.Status {
			continue // a condition starts as false
		}
		c.add(gpu.EventPodCondition, now.Since, because(fmt.Sprintf("%s: %s is %s", c.pod.names(), now.Type, now.Status), cmp.Or(now.Message, now.Reason)),
			gpu.PodChange{Condition: &gpu.PodCondition{Type: now.Type, Status: now.Status, Reason: now.Reason}}, now.Type, now.Status)
	}
}

// phase adds a change of phase, and the end as what it is.
func (c *changes) phase(before *Pod) {
	p := c.pod
	if p.Phase == before.Phase || p.Phase == "" {
		return
	}
	change := gpu.PodChange{PreviousPhase: before.Phase, Reason: p.Reason}
	if !p.Ended() {
		c.add(gpu.EventPodPhase, p.phaseStart(), p.names()+" is "+p.Phase, change, p.Phase)
		return
	}
	message := p.names() + " has " + strings.ToLower(p.Phase)
	if failed := p.failed(); failed != nil {
		change.Container = failed.change(failed.Ended)
		change.Reason = cmp.Or(p.Reason, failed.Ended.Reason)
		message = fmt.Sprintf("%s: container %s ended with exit code %d", message, failed.Name, failed.Ended.ExitCode)
		message = because(message, failed.Ended.Reason)
	} else {
		message = because(message, cmp.Or(p.Message, p.Reason))
	}
	c.add(gpu.EventPodFinished, p.phaseStart(), message, change, p.Phase)
}

func because(message, why string) string {
	if why == "" {
		return message
	}
	return message + ": " + why
}

// wordsOf returns the words of a message in alphabetical order, each once, without numbers.
func wordsOf(message string) string {
	words := strings.FieldsFunc(message, func(r rune) bool { return !unicode.IsLetter(r) })
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " ")
}
