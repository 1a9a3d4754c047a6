// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package columns

import (
	"strings"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// UserName names a user or holder of a GPU: a pod, a job, a unit, a container or a guest; empty if nothing is known. A job in a pod follows
// the pod.
func UserName(u *view.User) string {
	job := jobName(u)
	switch {
	case u.Pod != nil:
		return strings.TrimSpace(podName(u) + " " + job)
	case job != "":
		return job
	case u.SystemdUnit != nil:
		return *u.SystemdUnit
	case u.Container != nil:
		return "container " + *u.Container
	case u.ContainerName != nil:
		return "container " + *u.ContainerName
	case u.ContainerID != nil:
		return "container " + (*u.ContainerID)[:min(12, len(*u.ContainerID))]
	default:
		return ""
	}
}

func podName(u *view.User) string {
	if u.Namespace != nil {
		return *u.Namespace + "/" + *u.Pod
	}
	return *u.Pod
}

// jobName names a job of a batch system; "" if the user is not a batch job.
func jobName(u *view.User) string {
	switch {
	case u.SlurmJob != nil:
		return "job " + *u.SlurmJob
	case u.SlurmSLUID != nil:
		return "job " + *u.SlurmSLUID
	case u.BatchJob != nil && u.BatchSystem != nil:
		return *u.BatchSystem + " " + *u.BatchJob
	case u.BatchJob != nil:
		return "job " + *u.BatchJob
	default:
		return ""
	}
}

// userName is UserName, nil if the user has no name.
func userName(u *view.User) *string {
	if name := UserName(u); name != "" {
		return &name
	}
	return nil
}
