// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"cmp"
	"errors"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// use is what one process does on one GPU or partition.
type use struct {
	pid       int64
	address   string
	partition int

	memory gpu.Opt[int64]
	shares [numEngines]float64 // of the time since the last read that each engine worked for it
	used   [numEngines]bool    // by any of its clients, ever
	timed  bool                // the last read is known
	drm    bool                // it has a client
	kfd    bool                // it is a process of the compute driver
	units  gpu.Opt[float64]    // the fraction of the compute units that have work of it now
}

// useKey is a process on a GPU or partition.
type useKey struct {
	pid   int64
	owner owner
}

// processes adds the processes to the node: those that have the GPU open, and those of the compute driver.
func (s *Source) processes(round uint64) {
	if len(s.inv.cards) == 0 {
		return
	}
	s.uses = s.uses[:0]
	if s.procs.task.ended(round) {
		for _, err := range s.procs.problems {
			s.problem(gpu.ProblemProcesses, "", "processes", err)
		}
		s.uses = append(s.uses, s.procs.uses...)
	} else {
		s.procs.stop.Store(true)
		s.problem(gpu.ProblemProcesses, "", "processes", errors.New("amdgpu: processes: looking through their open files has not ended in time;"+
			" those are reported that KFD tells"))
	}
	if s.kfd.task.ended(round) {
		s.mergeKFD()
	} else {
		s.kfd.stop.Store(true)
		s.problem(gpu.ProblemProcesses, "", "processes", errors.New("amdgpu: processes: reading those of KFD has not ended in time"))
	}
	for i := range s.uses {
		u := &s.uses[i]
		if !u.real() {
			continue
		}
		if id, at, ok := s.leaf(u.address, u.partition); ok {
			p := u.process(s.want)
			p.DeviceID, p.Location = id, at
			s.node.Processes = append(s.node.Processes, p)
		}
	}
	slices.SortFunc(s.node.Processes, func(a, b gpu.Process) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.DeviceID, b.DeviceID), a.Location.Compare(b.Location))
	})
}

// mergeKFD adds what the compute driver tells. Where the process's open files tell its memory too, the two are not added: they
// are views of the same, of which the larger counts. KFD has a file for every process and every GPU, used or not.
func (s *Source) mergeKFD() {
	index := make(map[useKey]int, len(s.uses))
	for i := range s.uses {
		u := &s.uses[i]
		index[useKey{u.pid, owner{u.address, u.partition}}] = i
	}
	for i := range s.kfd.uses {
		k := &s.kfd.uses[i]
		at, known := index[useKey{k.pid, k.owner}]
		if !known {
			if k.memory == 0 {
				continue
			}
			at = len(s.uses)
			s.uses = append(s.uses, use{pid: k.pid, address: k.owner.address, partition: k.owner.partition})
		}
		u := &s.uses[at]
		u.kfd, u.units = true, k.units
		if of, ok := u.memory.Get(); !ok || k.memory > of {
			u.memory = gpu.Some(k.memory)
		}
	}
}

// leaf returns the device on which processes of a GPU or partition run: its ID, or its location where the ID could not be
// read. It is not ok where the node has no such GPU.
func (s *Source) leaf(address string, partition int) (id string, at gpu.Location, ok bool) {
	for i := range s.node.Devices {
		d := &s.node.Devices[i]
		if d.Info.PCIAddress != address {
			continue
		}
		divided := i+1 < len(s.node.Devices) && s.node.Devices[i+1].Info.PCIAddress == address
		switch {
		case d.ID != "" && divided:
			return partitionID(d.ID, partition), gpu.Location{}, true
		case d.ID != "":
			return d.ID, gpu.Location{}, true
		case divided:
			return "", gpu.Location{PCIAddress: address, Partition: gpu.Some(partition)}, true
		default:
			return "", gpu.Location{PCIAddress: address}, true
		}
	}
	return "", gpu.Location{}, false
}

// real tells a use from a device that a process merely has open, as ROCm has all that it finds.
func (u *use) real() bool {
	if n, ok := u.memory.Get(); ok && n > 0 {
		return true
	}
	for _, used := range u.used {
		if used {
			return true
		}
	}
	return false
}

func (u *use) process(want gpu.Group) gpu.Process {
	p := gpu.Process{PID: u.pid, Type: u.kind()}
	if want.Has(gpu.GroupProcesses) {
		p.Memory = u.memory
	}
	if want.Has(gpu.GroupProcessUtilization) {
		u.utilization(&p)
	}
	return p
}

func (u *use) kind() gpu.ProcessType {
	compute, graphics := u.kfd || u.used[engineCompute], u.used[engineGFX]
	switch {
	case compute && graphics:
		return gpu.ProcessComputeGraphics
	case compute:
		return gpu.ProcessCompute
	case graphics:
		return gpu.ProcessGraphics
	}
	return gpu.ProcessUnknown
}

// utilization sets the share of the time since the last read that the engines worked for the process. The queues of the
// compute driver are fed without the DRM driver, which so does not know their time: of them the share of the compute units
// that is at work for the process now is taken.
func (u *use) utilization(p *gpu.Process) {
	general := u.used[engineGFX] || u.used[engineCompute]
	if u.timed && (general || u.drm && !u.kfd) {
		p.Utilization[gpu.TaskGeneral] = gpu.Some(min(1, u.shares[engineGFX]+u.shares[engineCompute]))
	}
	if units, ok := u.units.Get(); ok {
		if t, had := p.Utilization[gpu.TaskGeneral].Get(); !had || units > t {
			p.Utilization[gpu.TaskGeneral] = gpu.Some(units)
		}
	}
	for _, media := range [...]struct {
		engine engine
		task   gpu.Task
	}{{engineDecode, gpu.TaskDecoder}, {engineEncode, gpu.TaskEncoder}, {engineJPEG, gpu.TaskJPEG}} {
		if u.timed && u.used[media.engine] {
			p.Utilization[media.task] = gpu.Some(min(1, u.shares[media.engine]))
		}
	}
}
