// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package columns

import (
	"github.com/otelgpu/gpureceiver/internal/view"
)

// UserName names who uses or holds a GPU: a pod, a job, a unit or a container; empty where nothing is known.
func UserName(u *view.User) string {
	switch {
	case u.Pod != nil && u.Namespace != nil:
		return *u.Namespace + "/" + *u.Pod
	case u.Pod != nil:
		return *u.Pod
	case u.SlurmJob != nil:
		return "job " + *u.SlurmJob
	case u.SystemdUnit != nil:
		return *u.SystemdUnit
	case u.Container != nil:
		return "container " + *u.Container
	case u.ContainerID != nil:
		return "container " + (*u.ContainerID)[:min(12, len(*u.ContainerID))]
	default:
		return ""
	}
}

// userName is UserName, nil where nothing is known.
func userName(u *view.User) *string {
	if name := UserName(u); name != "" {
		return &name
	}
	return nil
}
