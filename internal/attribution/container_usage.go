// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
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

// deviceUsage is who holds and who uses one leaf device.
type deviceUsage struct {
	device       *gpu.Device
	sharesMemory bool         // with other devices
	holders      gpu.Opt[int] // how many containers hold the device; absent where not all of them are known
	containers   []containerUsage
	placement    placement // of its processes
	all          usage     // by all processes, wherever they run
}

// containerUsage is one container on one device.
type containerUsage struct {
	container *gpu.Container
	holder    *gpu.Holder // nil if it does not hold the device
	own       usage       // by its processes
	evidence  evidence
	allocated gpu.Opt[bool] // whether it holds the device
}

// deviceUsages returns who holds and who uses each leaf device of a node.
func deviceUsages(node *gpu.Node, devices *deviceid.Index, placed *placedProcesses, held *holders) []deviceUsage {
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
		if held.complete[i] && u.device.HoldersKnown {
			u.holders = gpu.Some(len(u.device.Holders))
		}
		for j := range u.device.Holders {
			holder := &u.device.Holders[j]
			u.containers = append(u.containers, containerUsage{container: holder.Container, holder: holder})
		}
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
			usages[i].judge(placed.users, held.initContainers)
			leaves = append(leaves, usages[i])
		}
	}
	return leaves
}

// add adds a process.
func (u *deviceUsage) add(p *gpu.Process, where placement) {
	u.all.add(p)
	u.placement = max(u.placement, where)
	if where != inContainer {
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

// judge finds out what is known about each container, after all processes were added.
func (u *deviceUsage) judge(users *users, inits initContainers) {
	for i := range u.containers {
		c := &u.containers[i]
		alone := len(u.containers) == 1 && u.holders == gpu.Some(1)
		c.evidence = judge(alone, u.placement, u.hasPossibleUser(c, users, inits))
		switch {
		case c.holder != nil:
			c.allocated = gpu.Some(true)
		case u.holders.Known() && !inits.has(c.container) && !u.hasPossibleHolder(c, users):
			c.allocated = gpu.Some(false)
		}
	}
}

// hasPossibleUser reports whether a user of the device might be a container that has no process there. An init container that ended
// before the container started was given what its pod has.
func (u *deviceUsage) hasPossibleUser(c *containerUsage, users *users, inits initContainers) bool {
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
