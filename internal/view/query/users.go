// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"strings"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// The kinds of workloads that are not Kubernetes objects.
const (
	KindSlurmJob    = "SlurmJob"
	KindBatchJob    = "BatchJob" // of another batch system: system/job
	KindSystemdUnit = "SystemdUnit"
	KindContainer   = "Container" // a container with nothing but an ID or a name
)

// Owner is a workload's identity. Node is set for jobs and for workloads other than pods.
type Owner struct {
	Cluster, Node, Namespace, Kind, Name string
}

// OwnerOf returns the workload of a user on a node: a job, what owns its pod, a pod without owner, a systemd unit, a container or a guest. It
// reports false for a user of whom none is known.
func OwnerOf(u *view.User, n *view.Node) (Owner, bool) {
	o := Owner{Cluster: text(n.Cluster), Namespace: text(u.Namespace)}
	if kind, name := jobOf(u); kind != "" {
		o.Node, o.Kind, o.Name = n.Name, kind, name
		return o, true
	}
	switch {
	case u.Workload != nil:
		o.Kind, o.Name = text(u.WorkloadKind), *u.Workload
		return o, true
	case u.Pod != nil:
		o.Kind, o.Name = "Pod", *u.Pod
		return o, true
	}
	o.Node = n.Name
	switch {
	case u.SystemdUnit != nil:
		o.Kind, o.Name = KindSystemdUnit, *u.SystemdUnit
	case u.Container != nil:
		o.Kind, o.Name = KindContainer, *u.Container
	case u.ContainerID != nil:
		o.Kind, o.Name = KindContainer, *u.ContainerID
	case u.ContainerName != nil:
		o.Kind, o.Name = KindContainer, *u.ContainerName
	default:
		return Owner{}, false
	}
	return o, true
}

// jobOf returns the job of a user, also of one in a pod: it is the job that a person submitted, not the pod that it runs in. The kind is
// empty for a user in no job.
func jobOf(u *view.User) (kind, name string) {
	switch {
	case u.SlurmJob != nil:
		return KindSlurmJob, *u.SlurmJob
	case u.SlurmSLUID != nil:
		return KindSlurmJob, *u.SlurmSLUID
	case u.BatchJob != nil:
		return KindBatchJob, text(u.BatchSystem) + "/" + *u.BatchJob
	}
	return "", ""
}

// UserFilter is what a user's names must be. An empty field matches every name.
type UserFilter struct {
	Namespace, Pod, Workload, Kind, Account string
	Label                                   string // name=value
}

// Matches reports whether a user has the names.
func (f UserFilter) Matches(u *view.User) bool {
	return (f.Namespace == "" || text(u.Namespace) == f.Namespace) && (f.Pod == "" || text(u.Pod) == f.Pod) &&
		(f.Account == "" || text(u.SlurmAccount) == f.Account) && f.matchesLabel(u) && f.matchesWorkload(u)
}

func (f UserFilter) matchesLabel(u *view.User) bool {
	if f.Label == "" {
		return true
	}
	name, value, _ := strings.Cut(f.Label, "=")
	has, ok := u.Labels[name]
	return ok && has == value
}

func (f UserFilter) matchesWorkload(u *view.User) bool {
	if f.Workload == "" && f.Kind == "" {
		return true
	}
	o, ok := OwnerOf(u, &view.Node{})
	return ok && (f.Workload == "" || f.Workload == o.Name) && (f.Kind == "" || f.Kind == o.Kind)
}

// MatchesGPU reports whether a container or a process of a GPU has the names.
func (f UserFilter) MatchesGPU(g *view.GPU) bool {
	if f == (UserFilter{}) {
		return true
	}
	for _, c := range g.Containers {
		if f.Matches(&c.User) {
			return true
		}
	}
	for _, p := range g.Processes {
		if f.Matches(&p.User) {
			return true
		}
	}
	return false
}

// text returns the text, empty if it is nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// optional returns nil for an empty text.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
