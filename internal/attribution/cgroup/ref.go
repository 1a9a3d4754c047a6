// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cgroup

// Ref is what a process runs in, according to its control groups. It is empty for a process in nothing of the kind.
type Ref struct {
	PodUID      string // with dashes; for a static pod, the hash of its file
	ContainerID string // without the runtime's prefix; in a pod, the pod's container and not one nested in it
	SlurmJob    string // the job id
	SystemdUnit string // only outside of containers and jobs
}

// InContainer reports whether the process is in a container or a pod.
func (r Ref) InContainer() bool { return r.PodUID != "" || r.ContainerID != "" }
