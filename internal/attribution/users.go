// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// users are the containers that use a node's devices, each once.
type users struct {
	all    map[*gpu.Container]struct{}
	byID   map[string]*gpu.Container
	byName map[podContainer][]*gpu.Container
}

func newUsers() users {
	return users{
		all:    make(map[*gpu.Container]struct{}),
		byID:   make(map[string]*gpu.Container),
		byName: make(map[podContainer][]*gpu.Container),
	}
}

func (u *users) reset() {
	clear(u.all)
	clear(u.byID)
	clear(u.byName)
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
		name := podContainer{namespace: container.Namespace, pod: container.PodName, name: container.Name}
		u.byName[name] = append(u.byName[name], container)
	}
}

// same finds a holder among the users: by its id, or by its names. By names the ids may differ: the API tells a
// container's new instance a little late.
func (u *users) same(holder *gpu.Container) *gpu.Container {
	if user := u.byID[holder.ID]; user != nil {
		return user
	}
	for _, user := range u.byName[podContainer{namespace: holder.Namespace, pod: holder.PodName, name: holder.Name}] {
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

// mayBe tells whether a user might be the holder, for want of what would tell: then nothing is said of what the holder
// uses. Both are known not to have been found the same.
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
		return false // by ids alone, which would have been the same
	}
	return true
}
