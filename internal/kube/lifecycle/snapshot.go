// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	maxSnapshot = 16 << 10 // bytes of a snapshot
	maxEntries  = 16       // of a list or map of a snapshot, but for containers
)

// Snapshot returns what a pod's spec and status say, as JSON of at most maxSnapshot bytes. It has only what is named here. Left out are environments,
// commands, arguments, annotations, labels, volumes, image pull secrets and all messages: a kubelet's names the Secret that it does not find, and a container
// writes its own.
func Snapshot(pod *corev1.Pod) string {
	s := snapshotOf(pod)
	for {
		data, err := json.Marshal(s)
		switch {
		case err != nil:
			return ""
		case len(data) <= maxSnapshot:
			return string(data)
		case !s.shrink():
			return `{"truncated":true}`
		}
	}
}

type snapshot struct {
	Truncated bool              `json:"truncated,omitempty"` // it was too large: lists end early
	Metadata  snapshotMeta      `json:"metadata"`
	Spec      snapshotSpec      `json:"spec"`
	Status    snapshotPodStatus `json:"status"`
}

type snapshotMeta struct {
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	UID       string       `json:"uid"`
	Created   metav1.Time  `json:"creationTimestamp,omitzero"`
	Deletion  *metav1.Time `json:"deletionTimestamp,omitempty"`
}

type snapshotSpec struct {
	Node              string               `json:"nodeName,omitempty"`
	Scheduler         string               `json:"schedulerName,omitempty"`
	PriorityClass     string               `json:"priorityClassName,omitempty"`
	Priority          *int32               `json:"priority,omitempty"`
	RestartPolicy     string               `json:"restartPolicy,omitempty"`
	RuntimeClass      *string              `json:"runtimeClassName,omitempty"`
	GraceSeconds      *int64               `json:"terminationGracePeriodSeconds,omitempty"`
	DeadlineSeconds   *int64               `json:"activeDeadlineSeconds,omitempty"`
	NodeSelector      map[string]string    `json:"nodeSelector,omitempty"`
	Tolerations       []snapshotToleration `json:"tolerations,omitempty"`
	ResourceClaims    []snapshotClaim      `json:"resourceClaims,omitempty"`
	InitContainers    []snapshotContainer  `json:"initContainers,omitempty"`
	Containers        []snapshotContainer  `json:"containers,omitempty"`
	SchedulingIsGated bool                 `json:"schedulingGated,omitempty"`
}

type snapshotToleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator,omitempty"`
	Value    string `json:"value,omitempty"`
	Effect   string `json:"effect,omitempty"`
}

type snapshotClaim struct {
	Name     string `json:"name"`
	Claim    string `json:"resourceClaimName,omitempty"`
	Template string `json:"resourceClaimTemplateName,omitempty"`
}

type snapshotContainer struct {
	Name          string            `json:"name"`
	Image         string            `json:"image,omitempty"`
	RestartPolicy string            `json:"restartPolicy,omitempty"`
	Requests      map[string]string `json:"requests,omitempty"`
	Limits        map[string]string `json:"limits,omitempty"`
	Claims        []string          `json:"claims,omitempty"`
}

type snapshotPodStatus struct {
	Phase          string                    `json:"phase,omitempty"`
	Reason         string                    `json:"reason,omitempty"`
	QOS            string                    `json:"qosClass,omitempty"`
	Started        *metav1.Time              `json:"startTime,omitempty"`
	Nominated      string                    `json:"nominatedNodeName,omitempty"`
	Conditions     []snapshotCondition       `json:"conditions,omitempty"`
	InitContainers []snapshotContainerStatus `json:"initContainerStatuses,omitempty"`
	Containers     []snapshotContainerStatus `json:"containerStatuses,omitempty"`
}

type snapshotCondition struct {
	Type   string      `json:"type"`
	Status string      `json:"status"`
	Reason string      `json:"reason,omitempty"`
	Since  metav1.Time `json:"lastTransitionTime,omitzero"`
}

type snapshotContainerStatus struct {
	Name     string         `json:"name"`
	ID       string         `json:"containerID,omitempty"`
	Ready    bool           `json:"ready"`
	Restarts int32          `json:"restartCount"`
	State    *snapshotState `json:"state,omitempty"`
	Last     *snapshotState `json:"lastState,omitempty"`
}

type snapshotState struct {
	Is       string       `json:"is"` // waiting, running, terminated
	Reason   string       `json:"reason,omitempty"`
	ExitCode *int32       `json:"exitCode,omitempty"`
	Signal   int32        `json:"signal,omitempty"`
	Started  *metav1.Time `json:"startedAt,omitempty"`
	Finished *metav1.Time `json:"finishedAt,omitempty"`
}

func snapshotOf(pod *corev1.Pod) *snapshot {
	s := &snapshot{Metadata: snapshotMeta{
		Namespace: gpu.BoundedText(pod.Namespace, maxText), Name: gpu.BoundedText(pod.Name, maxText), UID: gpu.BoundedText(string(pod.UID), maxText),
		Created: pod.CreationTimestamp, Deletion: pod.DeletionTimestamp,
	}}
	spec, status := &pod.Spec, &pod.Status
	s.Spec = snapshotSpec{
		Node: gpu.BoundedText(spec.NodeName, maxText), Scheduler: gpu.BoundedText(spec.SchedulerName, maxText), PriorityClass: gpu.BoundedText(spec.PriorityClassName, maxText),
		Priority: spec.Priority, RestartPolicy: gpu.BoundedText(string(spec.RestartPolicy), maxText), RuntimeClass: textOf(spec.RuntimeClassName),
		GraceSeconds: spec.TerminationGracePeriodSeconds, DeadlineSeconds: spec.ActiveDeadlineSeconds,
		NodeSelector: texts(spec.NodeSelector), SchedulingIsGated: len(spec.SchedulingGates) > 0,
		InitContainers: snapshotContainers(spec.InitContainers), Containers: snapshotContainers(spec.Containers),
	}
	for _, t := range first(spec.Tolerations, maxEntries) {
		s.Spec.Tolerations = append(s.Spec.Tolerations, snapshotToleration{
			Key: gpu.BoundedText(t.Key, 2*maxText), Operator: gpu.BoundedText(string(t.Operator), maxText), Value: gpu.BoundedText(t.Value, maxText), Effect: gpu.BoundedText(string(t.Effect), maxText),
		})
	}
	for _, c := range first(spec.ResourceClaims, maxEntries) {
		claim := snapshotClaim{Name: gpu.BoundedText(c.Name, maxText)}
		if name := textOf(c.ResourceClaimName); name != nil {
			claim.Claim = *name
		}
		if name := textOf(c.ResourceClaimTemplateName); name != nil {
			claim.Template = *name
		}
		s.Spec.ResourceClaims = append(s.Spec.ResourceClaims, claim)
	}
	s.Status = snapshotPodStatus{
		Phase: gpu.BoundedText(string(status.Phase), maxText), Reason: gpu.BoundedText(status.Reason, maxText), QOS: gpu.BoundedText(string(status.QOSClass), maxText), Started: status.StartTime,
		Nominated:      gpu.BoundedText(status.NominatedNodeName, maxText),
		InitContainers: snapshotStatuses(status.InitContainerStatuses), Containers: snapshotStatuses(status.ContainerStatuses),
	}
	for i := range first(status.Conditions, maxConditions) {
		c := &status.Conditions[i]
		s.Status.Conditions = append(s.Status.Conditions, snapshotCondition{
			Type: gpu.BoundedText(string(c.Type), maxText), Status: gpu.BoundedText(string(c.Status), maxText), Reason: gpu.BoundedText(c.Reason, maxText), Since: c.LastTransitionTime,
		})
	}
	return s
}

func snapshotContainers(containers []corev1.Container) []snapshotContainer {
	var all []snapshotContainer
	for i := range first(containers, maxContainers) {
		c := &containers[i]
		container := snapshotContainer{
			Name: gpu.BoundedText(c.Name, maxText), Image: gpu.BoundedText(c.Image, 2*maxText), Requests: quantities(c.Resources.Requests), Limits: quantities(c.Resources.Limits),
		}
		if c.RestartPolicy != nil {
			container.RestartPolicy = gpu.BoundedText(string(*c.RestartPolicy), maxText)
		}
		for _, claim := range first(c.Resources.Claims, maxEntries) {
			container.Claims = append(container.Claims, gpu.BoundedText(claim.Name, maxText))
		}
		all = append(all, container)
	}
	return all
}

func snapshotStatuses(statuses []corev1.ContainerStatus) []snapshotContainerStatus {
	var all []snapshotContainerStatus
	for i := range first(statuses, maxContainers) {
		s := &statuses[i]
		all = append(all, snapshotContainerStatus{
			Name: gpu.BoundedText(s.Name, maxText), ID: bareID(s.ContainerID), Ready: s.Ready, Restarts: s.RestartCount,
			State: stateOf(&s.State), Last: stateOf(&s.LastTerminationState),
		})
	}
	return all
}

func stateOf(state *corev1.ContainerState) *snapshotState {
	switch {
	case state.Waiting != nil:
		return &snapshotState{Is: "waiting", Reason: gpu.BoundedText(state.Waiting.Reason, maxText)}
	case state.Running != nil:
		return &snapshotState{Is: "running", Started: &state.Running.StartedAt}
	case state.Terminated != nil:
		t := state.Terminated
		return &snapshotState{
			Is: "terminated", Reason: gpu.BoundedText(t.Reason, maxText), ExitCode: &t.ExitCode, Signal: t.Signal, Started: &t.StartedAt, Finished: &t.FinishedAt,
		}
	}
	return nil
}

// shrink drops the later half of all lists; false if there is nothing left to drop.
func (s *snapshot) shrink() bool {
	before := s.entries()
	s.Truncated = true
	s.Spec.NodeSelector = nil
	halve(&s.Spec.Tolerations)
	halve(&s.Spec.ResourceClaims)
	halve(&s.Spec.InitContainers)
	halve(&s.Spec.Containers)
	halve(&s.Status.Conditions)
	halve(&s.Status.InitContainers)
	halve(&s.Status.Containers)
	return s.entries() < before
}

func (s *snapshot) entries() int {
	return len(s.Spec.NodeSelector) + len(s.Spec.Tolerations) + len(s.Spec.ResourceClaims) + len(s.Spec.InitContainers) + len(s.Spec.Containers) +
		len(s.Status.Conditions) + len(s.Status.InitContainers) + len(s.Status.Containers)
}

func halve[T any](list *[]T) { *list = (*list)[:len(*list)/2] }

func first[T any](list []T, most int) []T { return list[:min(len(list), most)] }

func textOf(s *string) *string {
	if s == nil {
		return nil
	}
	text := gpu.BoundedText(*s, maxText)
	return &text
}

func quantities(list corev1.ResourceList) map[string]string {
	amounts := make(map[string]string, len(list))
	for name := range list {
		quantity := list[name]
		amounts[string(name)] = quantity.String()
	}
	return texts(amounts)
}

// texts returns the first entries of a map, by key.
func texts(values map[string]string) map[string]string {
	var result map[string]string
	for _, key := range first(slices.Sorted(maps.Keys(values)), maxEntries) {
		if result == nil {
			result = make(map[string]string)
		}
		result[gpu.BoundedText(key, 2*maxText)] = gpu.BoundedText(values[key], maxText)
	}
	return result
}
