// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import "github.com/otelgpu/gpureceiver/internal/gpu"

// users are the containers that have a process on any device of a node, each once.
type users struct {
	byID   map[string]*gpu.Container
	byName map[podContainer][]*gpu.Container
	all    map[*gpu.Container]struct{}
	stale  bool // the API could not be read lately
}

func newUsers(stale bool) *users {
	return &users{
		byID:   make(map[string]*gpu.Container),
		byName: make(map[podContainer][]*gpu.Container),
		all:    make(map[*gpu.Container]struct{}),
		stale:  stale,
	}
}

func (u *users) add(container *gpu.Container) {
	if _, ok := u.all[container]; ok {
		return
	}
	u.all[container] = struct{}{}
	if container.ID != "" {
		u.byID[container.ID] = container
	}
	if container.PodName != "" && container.Name != "" {
		name := podContainerOf(container)
		u.byName[name] = append(u.byName[name], container)
	}
}

// same returns the user that is the same container as a holder, by its ID or by its names; nil if there is none. Containers with the
// same names may have different IDs, because the API lists a new instance of a container a little late.
func (u *users) same(holder *gpu.Container) *gpu.Container {
	if user := u.byID[holder.ID]; user != nil {
		return user
	}
	for _, user := range u.byName[podContainerOf(holder)] {
		if user.PodUID == holder.PodUID || holder.PodUID == "" || user.PodUID == "" {
			return user
		}
	}
	return nil
}

// only returns the user with a name; nil if there is none, or more than one.
func (u *users) only(name podContainer) *gpu.Container {
	if named := u.byName[name]; len(named) == 1 {
		return named[0]
	}
	return nil
}

// mayBe reports whether a user might be the same container as a holder, where same did not find them to be. A user without names may
// be in a pod that the API could not list any more.
func (u *users) mayBe(holder, user *gpu.Container) bool {
	return mayBe(holder, user) || (u.stale && user.PodName == "")
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
