// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import "strings"

// Owner is an object that owns a pod, directly or through others.
type Owner struct {
	Kind, Name, UID string
	APIVersion      string // apps/v1
}

// OwnerKind is a kind of owners that has resource attributes of its own in the semantic conventions, such as k8s.job.name.
type OwnerKind uint8

// The kinds, topmost first. If a pod has two of them, the earlier one owns the later one.
const (
	OwnerCronJob OwnerKind = iota
	OwnerDeployment
	OwnerStatefulSet
	OwnerDaemonSet
	OwnerJob
	OwnerReplicaSet
	NumOwnerKinds
)

// ownerKinds has for each kind its API group and its name.
var ownerKinds = [NumOwnerKinds]struct{ group, kind string }{
	OwnerCronJob:     {"batch", "CronJob"},
	OwnerDeployment:  {"apps", "Deployment"},
	OwnerStatefulSet: {"apps", "StatefulSet"},
	OwnerDaemonSet:   {"apps", "DaemonSet"},
	OwnerJob:         {"batch", "Job"},
	OwnerReplicaSet:  {"apps", "ReplicaSet"},
}

// String returns the kind as Kubernetes spells it.
func (k OwnerKind) String() string { return ownerKinds[k].kind }

// NameAttribute returns the attribute with the owner's name: k8s.job.name.
func (k OwnerKind) NameAttribute() string { return "k8s." + strings.ToLower(k.String()) + ".name" }

// ConventionalKind returns the kind of an owner; false if the conventions have no attributes for it. Other API groups have kinds with
// the same names, such as Job in batch.volcano.sh and StatefulSet in apps.kruise.io.
func (o *Owner) ConventionalKind() (OwnerKind, bool) {
	group, _, grouped := strings.Cut(o.APIVersion, "/")
	for kind := range NumOwnerKinds {
		if entry := ownerKinds[kind]; grouped && entry.group == group && entry.kind == o.Kind {
			return kind, true
		}
	}
	return 0, false
}

// NearestOwners returns for each kind that the conventions define the nearest of a pod's owners, from the direct owner to the topmost one;
// nil if the pod has no owner of the kind.
func NearestOwners(owners []Owner) [NumOwnerKinds]*Owner {
	var nearest [NumOwnerKinds]*Owner
	for i := range owners {
		if kind, ok := owners[i].ConventionalKind(); ok && nearest[kind] == nil {
			nearest[kind] = &owners[i]
		}
	}
	return nearest
}
