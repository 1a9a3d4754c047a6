// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/attribution/deviceid"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// sum is a quantity of several processes.
type sum struct {
	total   float64
	known   int // processes that report it
	unknown int // processes that do not
}

func (s *sum) add(v float64, known bool) {
	if !known {
		s.unknown++
		return
	}
	s.known++
	s.total += v
}

func (s *sum) addAll(o *sum) {
	s.total += o.total
	s.known += o.known
	s.unknown += o.unknown
}

// usage is what processes use of a device.
type usage struct {
	processes   int
	utilization [gpu.NumTasks]sum // fractions of time
	memory      sum               // bytes
}

func (u *usage) add(p *gpu.Process) {
	u.processes++
	for t := range p.Utilization {
		v, ok := p.Utilization[t].Get()
		u.utilization[t].add(v, ok)
	}
	bytes, ok := p.Memory.Get()
	u.memory.add(float64(bytes), ok)
}

func (u *usage) addAll(o *usage) {
	u.processes += o.processes
	for t := range o.utilization {
		u.utilization[t].addAll(&o.utilization[t])
	}
	u.memory.addAll(&o.memory)
}

// deviceUsage lists the containers that hold or use one leaf device.
type deviceUsage struct {
	device       *gpu.Device
	sharesMemory bool // with other devices
	jobsKnown    bool // which jobs hold it
	// holders is how many containers hold the device, without the ones that hold it for one that runs in them; absent if not all of them
	// are known.
	holders    gpu.Opt[int]
	containers []containerUsage
	placement  placement // of its processes
	all        usage     // by all processes, wherever they run
}

// containerUsage is one container, job or unit on one device.
type containerUsage struct {
	container *gpu.Container
	holder    *gpu.Holder // nil if it does not hold the device
	own       usage       // by its processes
	inner     usage       // by the jobs that run in the container, or the containers that run in the job
	forInner  bool        // it holds the device for a holder that runs in it
	evidence  evidence
	allocated gpu.Opt[bool] // whether it holds the device
}

// deviceUsages returns the containers that hold or use each leaf device of a node.
func deviceUsages(node *gpu.Node, devices *deviceid.Index, placed *placedProcesses, nodeHolders *holders) []deviceUsage {
	usages := make([]deviceUsage, len(node.Devices))
	for i := range usages {
		u := &usages[i]
		*u = deviceUsage{device: &node.Devices[i], sharesMemory: devices.SharesMemory(i)}
		if placed.unlisted {
			u.placement = unlisted
		}
		if !node.ProcessesKnown(u.device) {
			u.placement = unknown
		}
		for j := range u.device.Holders {
			holder := &u.device.Holders[j]
			u.containers = append(u.containers, containerUsage{container: holder.Container, holder: holder})
		}
		u.jobsKnown = nodeHolders.jobsComplete[i]
		u.findInnerHolders(nodeHolders.complete[i] && u.device.HoldersKnown)
	}
	for i := range node.Processes {
		p := &node.Processes[i]
		if n, ok := devices.ByID(p.DeviceID); ok {
			usages[n].add(p, placed.placements[i])
		}
	}
	var leaves []deviceUsage
	for i := range usages {
		if devices.IsLeaf(i) {
			usages[i].setEvidence(placed.users, nodeHolders.initContainers)
			leaves = append(leaves, usages[i])
		}
	}
	return leaves
}

// add adds a process.
func (u *deviceUsage) add(p *gpu.Process, place placement) {
	u.all.add(p)
	u.placement = max(u.placement, place)
	if place != inContainer {
		return
	}
	for i := range u.containers {
		if u.containers[i].container == p.Container {
			u.containers[i].own.add(p)
			return
		}
	}
	c := containerUsage{container: p.Container}
	c.own.add(p)
	u.containers = append(u.containers, c)
}

// findInnerHolders finds the holders that run in others, after all holders were added, and counts the holders if all are known.
func (u *deviceUsage) findInnerHolders(allKnown bool) {
	innermost := 0
	for i := range u.containers {
		outer := &u.containers[i]
		outer.forInner = slices.ContainsFunc(u.containers, func(c containerUsage) bool { return runsIn(c.container, outer.container) })
		if !outer.forInner {
			innermost++
		}
	}
	if allKnown {
		u.holders = gpu.Some(innermost)
	}
}

// setEvidence sets what is known of the use by each container, and whether each holds the device, after all processes were added.
func (u *deviceUsage) setEvidence(users *users, inits initContainers) {
	for i := range u.containers {
		c := &u.containers[i]
		for j := range u.containers {
			if inner := &u.containers[j]; runsIn(inner.container, c.container) {
				c.inner.addAll(&inner.own)
			}
		}
		c.evidence = judge(u.isAlone(c), u.placement, u.hasPossibleUser(c, users, inits))
		switch {
		case c.holder != nil:
			c.allocated = gpu.Some(true)
		case u.holders.Known() && u.isKnownNotToHold(c.container) && !inits.contains(c.container) && !u.hasPossibleHolder(c, users):
			c.allocated = gpu.Some(false)
		}
	}
}

// isAlone reports whether a container is the only holder of the device and no other process runs there.
func (u *deviceUsage) isAlone(c *containerUsage) bool {
	if u.holders != gpu.Some(1) || c.holder == nil || c.forInner {
		return false
	}
	for i := range u.containers {
		other := &u.containers[i]
		if other != c && (!other.forInner || other.own.processes > 0 || !runsIn(c.container, other.container)) {
			return false
		}
	}
	return true
}

// isKnownNotToHold reports whether a container that is not among the holders, which are all known, holds nothing. What a batch system
// other than Slurm allocates is not known, nor what a guest was given.
func (u *deviceUsage) isKnownNotToHold(c *gpu.Container) bool {
	if c.InJob() {
		return c.SlurmJob != "" && u.jobsKnown
	}
	return c.RuntimeName == "" || c.Runtime != ""
}

// hasPossibleUser reports whether a user of the device might be a container that has no process there, or a job in it. An init container
// that ended before the container started was given what its pod has.
func (u *deviceUsage) hasPossibleUser(c *containerUsage, users *users, inits initContainers) bool {
	for i := range u.containers {
		user := &u.containers[i]
		if user.holder == nil && !runsIn(user.container, c.container) && users.mayRunIn(c.container, user.container) {
			return true
		}
	}
	if c.own.processes > 0 {
		return false
	}
	for i := range u.containers {
		user := &u.containers[i]
		if user.holder == nil && (users.mayBe(c.container, user.container) || inits.hasOf(user.container, c.container)) {
			return true
		}
	}
	return false
}

// hasPossibleHolder reports whether a holder of the device that has no process there might be a user.
func (u *deviceUsage) hasPossibleHolder(user *containerUsage, users *users) bool {
	for i := range u.containers {
		holder := &u.containers[i]
		if holder.holder != nil && holder.own.processes == 0 && users.mayBe(holder.container, user.container) {
			return true
		}
	}
	return false
}
