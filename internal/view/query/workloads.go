// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// Workloads returns what each workload on nodes holds and uses, in the order in which they come first. A device is used if the workload has
// a process, memory or load on it and is not idle there. Idle are the devices that it holds and has not used for a time.
func Workloads(nodes []*view.Node, users UserFilter) []*view.Workload {
	all := workloads{byOwner: map[Owner]*workload{}, users: users, groupOf: OwnerOf}
	all.addNodes(nodes)
	list := make([]*view.Workload, 0, len(all.order))
	for _, w := range all.order {
		list = append(list, w.workload())
	}
	return list
}

type workloads struct {
	byOwner map[Owner]*workload
	order   []*workload
	users   UserFilter
	groupOf func(*view.User, *view.Node) (Owner, bool) // by which users are grouped; false for a user of whom nothing is known
}

func (a *workloads) addNodes(nodes []*view.Node) {
	for _, n := range nodes {
		for _, g := range n.GPUs {
			a.add(n, g)
		}
	}
}

// add adds a device to the workloads that hold or use it.
func (a *workloads) add(n *view.Node, g *view.GPU) {
	var deviceWorkloads []*workload
	part := func(u *view.User) *share {
		if !a.users.Matches(u) {
			return nil
		}
		owner, ok := a.groupOf(u, n)
		if !ok {
			return nil
		}
		w := a.workload(owner)
		if !slices.Contains(deviceWorkloads, w) {
			deviceWorkloads = append(deviceWorkloads, w)
			w.share = share{}
		}
		w.pod(n, u)
		return &w.share
	}
	for _, c := range g.Containers {
		if s := part(&c.User); s != nil {
			s.container(c, g)
		}
	}
	for _, p := range g.Processes {
		if s := part(&p.User); s != nil {
			s.used = true
			s.ofProcesses.add(p.Memory)
		}
	}
	for _, w := range deviceWorkloads {
		w.add(g)
	}
}

func (a *workloads) workload(o Owner) *workload {
	w := a.byOwner[o]
	if w == nil {
		w = &workload{owner: o, pods: map[string]struct{}{}}
		a.byOwner[o] = w
		a.order = append(a.order, w)
	}
	return w
}

// share is a workload's part of one device.
type share struct {
	known, allocated bool // known: whether it is held
	measured, used   bool // measured: whether it is idle
	idleSince        *time.Time
	ofContainers     sum
	ofProcesses      sum
	power, energy    sum
	idle             sum
}

func (s *share) container(c *view.Container, g *view.GPU) {
	s.known = s.known || c.Allocated != nil
	s.allocated = s.allocated || c.Allocated != nil && *c.Allocated
	s.measured = s.measured || c.Utilization != nil || g.Utilization.General != nil
	if c.IdleSince != nil && (s.idleSince == nil || c.IdleSince.Before(*s.idleSince)) {
		s.idleSince = c.IdleSince
	}
	s.used = s.used || positive(c.Memory) || positive(c.Utilization)
	s.ofContainers.add(c.Memory)
	s.power.add(c.Power)
	s.energy.add(c.Energy)
	s.idle.add(c.IdleTime)
}

func positive(v *float64) bool { return v != nil && *v > 0 }

type workload struct {
	owner                       Owner
	pods                        map[string]struct{}
	gpus                        []string
	known, measured             bool
	allocated, used, unused     int
	idleSince                   *time.Time
	memory, power, energy, idle sum
	share                       share // of the present device
}

// pod counts a pod. Pods of one name in several nodes are several.
func (w *workload) pod(n *view.Node, u *view.User) {
	switch {
	case u.PodUID != nil:
		w.pods[*u.PodUID] = struct{}{}
	case u.Pod != nil:
		w.pods[n.Name+"/"+*u.Pod] = struct{}{}
	}
}

// add adds the share of a device.
func (w *workload) add(g *view.GPU) {
	s := &w.share
	w.gpus = append(w.gpus, g.ID)
	w.known, w.measured = w.known || s.known, w.measured || s.measured
	if s.allocated {
		w.allocated++
	}
	switch {
	case s.idleSince != nil:
		w.unused++
		if w.idleSince == nil || s.idleSince.Before(*w.idleSince) {
			w.idleSince = s.idleSince
		}
	case s.used:
		w.used++
	}
	if v := s.ofContainers.value(); v != nil {
		w.memory.add(v)
	} else {
		w.memory.add(s.ofProcesses.value())
	}
	w.power.add(s.power.value())
	w.energy.add(s.energy.value())
	w.idle.add(s.idle.value())
}

func (w *workload) workload() *view.Workload {
	v := &view.Workload{
		Cluster: optional(w.owner.Cluster), Node: optional(w.owner.Node), Namespace: optional(w.owner.Namespace), Kind: optional(w.owner.Kind),
		Name: w.owner.Name, Pods: len(w.pods), Used: w.used, GPUs: w.gpus,
		Memory: w.memory.value(), Power: w.power.value(), Energy: w.energy.value(), IdleTime: w.idle.value(), IdleSince: w.idleSince,
	}
	if w.known {
		v.Held = &w.allocated
	}
	if w.known && w.measured {
		v.Idle = &w.unused
	}
	return v
}
