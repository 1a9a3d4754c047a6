// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import "github.com/otelgpu/gpureceiver/internal/gpu"

// users are the containers, jobs and units that have a process on any device of a node, each once.
type users struct {
	byID   map[string]*gpu.Container
	byName map[podContainer][]*gpu.Container // with the jobs in them
	jobs   map[gpu.Job][]*gpu.Container
	all    map[*gpu.Container]struct{}
	stale  bool // the API could not be read lately
}

func newUsers(stale bool) *users {
	return &users{
		byID:   make(map[string]*gpu.Container),
		byName: make(map[podContainer][]*gpu.Container),
		jobs:   make(map[gpu.Job][]*gpu.Container),
		all:    make(map[*gpu.Container]struct{}),
		stale:  stale,
	}
}

func (u *users) add(container *gpu.Container) {
	if _, ok := u.all[container]; ok {
		return
	}
	u.all[container] = struct{}{}
	switch {
	case container.InJob():
		u.jobs[container.Job()] = append(u.jobs[container.Job()], container)
	case container.ID != "":
		u.byID[container.ID] = container
	}
	if container.PodName != "" && container.Name != "" {
		name := podContainerOf(container)
		u.byName[name] = append(u.byName[name], container)
	}
}

// same returns the user that is the same container as a holder, by its ID or by its names; nil if there is no such user. Containers with
// the same names may have different IDs, because the API lists a new instance of a container a little late.
func (u *users) same(holder *gpu.Container) *gpu.Container {
	if user := u.byID[holder.ID]; user != nil {
		return user
	}
	for _, user := range u.byName[podContainerOf(holder)] {
		if !user.InJob() && (user.PodUID == holder.PodUID || holder.PodUID == "" || user.PodUID == "") {
			return user
		}
	}
	return nil
}

// only returns a user in the container with a name; nil if there is none, or if there are several containers of that name.
func (u *users) only(name podContainer) *gpu.Container {
	var found *gpu.Container
	for _, user := range u.byName[name] {
		if found != nil && (user.PodUID != found.PodUID || user.ID != found.ID) {
			return nil
		}
		found = user
	}
	return found
}

// job returns the user that is a job, in the pod that it runs in; nil if none is, or several are.
func (u *users) job(job gpu.Job) *gpu.Container {
	var found *gpu.Container
	for _, user := range u.jobs[job] {
		if user.InContainer() && user.PodUID == "" {
			continue // a container in the job
		}
		if found != nil {
			return nil
		}
		found = user
	}
	return found
}

// mayBe reports whether a user might be the same container as a holder, although same did not find it. A user without names may be in a pod
// that the API could not list any more. Jobs, units and guests have names of their own and are never confused.
func (u *users) mayBe(holder, user *gpu.Container) bool {
	if holder.InJob() || user.InJob() || (user.PodUID == "" && user.PodName == "" && user.ID == "") {
		return false
	}
	return mayBe(holder, user) || (u.stale && user.PodName == "")
}

// mayRunIn reports whether a job may run in a holder, as far as its container is known.
func (u *users) mayRunIn(holder, job *gpu.Container) bool {
	if !job.InJob() || holder.InJob() {
		return false
	}
	container := *job
	container.SlurmJob, container.SlurmSLUID, container.BatchSystem, container.BatchJob = "", "", "", ""
	return u.mayBe(holder, &container)
}

// runsIn reports whether a user is known to run in another: a job in a container, or a container in a job.
func runsIn(user, outer *gpu.Container) bool {
	switch {
	case user == outer || !user.InJob():
		return false
	case outer.InJob():
		return user.Job() == outer.Job() && user.InContainer() && !outer.InContainer()
	case user.ID != "" && outer.ID != "":
		return user.ID == outer.ID
	case user.PodUID != "" && outer.PodUID != "":
		return user.PodUID == outer.PodUID && (user.Name == "" || user.Name == outer.Name)
	default:
		return user.PodName != "" && podContainerOf(user) == podContainerOf(outer)
	}
}

// mayBe reports whether nothing that is known about a holder and a user contradicts that they are one container.
func mayBe(holder, user *gpu.Container) bool {
	if user.PodName != "" {
		if user.PodName != holder.PodName || user.Namespace != holder.Namespace {
			return false
		}
		if user.Name != "" && user.Name != holder.Name {
			return false
		}
	}
	if user.PodUID != "" && holder.PodUID != "" {
		return user.PodUID == holder.PodUID
	}
	if user.PodUID == "" && user.ID != "" && holder.ID != "" {
		return false // the IDs differ, or same had found them
	}
	return true
}
