// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/attribution/cgroup"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// placement is the place in which a process runs, as far as it is known. A device has the last placement of this list that one of its
// processes has.
type placement uint8

const (
	// inContainer: the process runs in a known container, job or unit. This is also the placement of a device without processes.
	inContainer placement = iota
	// ended: the process has ended since the driver was read, and its container was not seen before.
	ended
	// outside: the process runs in no container, job or unit.
	outside
	// unlisted: the driver may not list the processes that use the device.
	unlisted
	// unknown: the place of the process is unknown, or the processes of the device are unknown.
	unknown
)

// placedProcesses are the places of the processes of one read.
type placedProcesses struct {
	placements []placement // of each process
	users      *users
	running    map[int64]cgroup.Ref // the control groups of processes in containers, jobs and units, by PID
	// unlisted reports that the driver may list no process although some run: NVIDIA's driver lists none to a PID namespace that is
	// not the machine's.
	unlisted bool
}

// placeProcesses sets Process.Container of each process of a node; to nil if enabled is false. before is the last read's running.
func placeProcesses(node *gpu.Node, containers *containers, enabled bool, before map[int64]cgroup.Ref) *placedProcesses {
	placed := &placedProcesses{
		placements: make([]placement, len(node.Processes)),
		users:      newUsers(containers.stale),
		running:    make(map[int64]cgroup.Ref),
	}
	readable := !node.HasProblem(gpu.ProblemProcessTable)
	placed.unlisted = !readable && !slices.ContainsFunc(node.Processes, func(p gpu.Process) bool { return !p.Created.IsZero() })
	refs := make([]cgroup.Ref, len(node.Processes))
	for i := range node.Processes {
		p := &node.Processes[i]
		p.Container = nil
		placed.placements[i] = unknown
		switch {
		case !enabled, p.Unread:
		case p.Cgroup != "":
			refs[i], placed.placements[i] = cgroup.Parse(p.Cgroup), outside
		case readable && p.Created.IsZero():
			// The process has ended since the driver was read. It was in the container in which the last read saw it.
			refs[i], placed.placements[i] = before[p.PID], ended
		}
		containers.jobs.learnUser(refs[i], p)
	}
	for i, ref := range refs {
		if ref == (cgroup.Ref{}) {
			continue
		}
		p := &node.Processes[i]
		if p.Container = containers.user(ref); p.Container == nil {
			placed.placements[i] = unknown
			continue
		}
		placed.placements[i] = inContainer
		placed.users.add(p.Container)
		placed.running[p.PID] = ref
	}
	return placed
}
