// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/attribution/cgroup"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// whereabouts is where a process runs.
type whereabouts uint8

const (
	inContainer whereabouts = iota
	outside                 // known to be in no container
	gone                    // not in the process table any more, and not seen before
	unknown
)

// attributeProcesses sets the container of each process, and tells in d.where for each what is known of it.
func (a *Attributor) attributeProcesses(node *gpu.Node, d *domain) {
	d.where = d.where[:0]
	d.users.reset()
	d.previous, d.current = d.current, d.previous
	clear(d.current)
	table := !node.HasProblem(gpu.ProblemProcessTable)
	readable := a.processes && table
	// In another PID namespace than the machine's NVIDIA's driver tells of no process of the machine.
	d.unlisted = !table && !slices.ContainsFunc(node.Processes, func(p gpu.Process) bool { return !p.Created.IsZero() })
	for i := range node.Processes {
		p := &node.Processes[i]
		p.Container = nil
		var ref cgroup.Ref
		where := unknown
		switch {
		case !a.processes, p.Unread:
		case p.Cgroup != "":
			ref, where = a.containers.ref(p.Cgroup), outside
		case readable && p.Created.IsZero():
			// It has ended since the driver was asked. What it used was its container's, if that is known.
			ref, where = d.previous[p.PID], gone
		}
		if ref != (cgroup.Ref{}) {
			p.Container = a.containers.user(ref)
		}
		switch {
		case ref.InContainer() && p.Container == nil:
			where = unknown
		case ref.InContainer():
			where = inContainer
			d.users.add(p.Container)
			d.current[p.PID] = ref
		}
		d.where = append(d.where, where)
	}
}
