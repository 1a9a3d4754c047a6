// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import "github.com/otelgpu/gpureceiver/internal/view"

// The kinds of workloads that are no Kubernetes objects.
const (
	KindSlurmJob    = "SlurmJob"
	KindSystemdUnit = "SystemdUnit"
	KindContainer   = "Container" // a container with nothing but an ID or a name
)

// Owner is a workload's identity. Node is set for what is no pod.
type Owner struct {
	Cluster, Node, Namespace, Kind, Name string
}

// OwnerOf returns the workload of a user on a node: what owns its pod, a pod without owner, a Slurm job, a systemd unit, a container. It
// reports false for a user of whom none is known.
func OwnerOf(u *view.User, n *view.Node) (Owner, bool) {
	o := Owner{Cluster: text(n.Cluster), Namespace: text(u.Namespace)}
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
	case u.SlurmJob != nil:
		o.Kind, o.Name = KindSlurmJob, *u.SlurmJob
	case u.SystemdUnit != nil:
		o.Kind, o.Name = KindSystemdUnit, *u.SystemdUnit
	case u.Container != nil:
		o.Kind, o.Name = KindContainer, *u.Container
	case u.ContainerID != nil:
		o.Kind, o.Name = KindContainer, *u.ContainerID
	default:
		return Owner{}, false
	}
	return o, true
}

// UserFilter is what a user's names must be. An empty field stands for every name.
type UserFilter struct {
	Namespace, Pod string
}

// Matches reports whether a user has the names.
func (f UserFilter) Matches(u *view.User) bool {
	return (f.Namespace == "" || text(u.Namespace) == f.Namespace) && (f.Pod == "" || text(u.Pod) == f.Pod)
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

// text returns the text, empty where there is none.
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
