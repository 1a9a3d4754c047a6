// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/device"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/processes"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

// wantsProcesses reports whether processes are read.
func (s *Source) wantsProcesses() bool {
	return s.want.Has(gpu.GroupProcesses|gpu.GroupProcessUtilization|gpu.GroupProcessTimes) && len(s.scanner.last.Cards) > 0
}

// processJobs returns the reads of the processes, which end with ctx.
func (s *Source) processJobs(ctx context.Context, now time.Time) []workers.Job {
	if !s.wantsProcesses() {
		return nil
	}
	inv, drm, kfd := s.scanner.last, &s.drm, &s.kfd
	return []workers.Job{
		{Task: kfd.task, Func: func() {
			kfd.usages, kfd.err = kfd.reader.Read(ctx, inv, s.want)
		}},
		{Task: drm.task, Func: func() { drm.usages, drm.errs = drm.reader.Read(ctx, inv, now) }},
	}
}

// addProcesses adds the processes to the node: the processes that have a GPU open, and the processes of the compute driver.
func (s *Source) addProcesses(node *gpu.Node) {
	complete := s.want.Has(gpu.GroupProcesses)
	if s.wantsProcesses() {
		complete = s.placeProcesses(node) && complete
	}
	for i := range node.Devices {
		d := &node.Devices[i]
		d.ProcessesUnread = !complete || s.scanner.last.Card(d.Info.PCIAddress) == nil
	}
}

// placeProcesses adds the processes that were read in time. It reports whether all reads were.
func (s *Source) placeProcesses(node *gpu.Node) (complete bool) {
	problem := func(err error) {
		node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemProcesses, What: "processes", Err: err})
	}
	complete = true
	var usages []processes.Usage
	if s.drm.task.Outcome() == workers.Done {
		usages = s.drm.usages
		for _, err := range s.drm.errs {
			problem(err)
			complete = complete && !errors.Is(err, processes.ErrBlocked)
		}
	} else {
		complete = false
		problem(errors.New("amdgpu: processes: the read of their open files did not end in time; only those that KFD shows are reported"))
	}
	if s.kfd.task.Outcome() == workers.Done {
		usages = processes.Merge(usages, s.kfd.usages)
		if s.kfd.err != nil {
			complete = false
			problem(s.kfd.err)
		}
	} else {
		complete = false
		problem(errors.New("amdgpu: processes: the read of those that KFD shows did not end in time"))
	}
	apus := s.apus()
	for i := range usages {
		u := &usages[i]
		apu := apus[u.Owner.Address]
		p := u.Process(s.want, apu)
		if u.InUse(apu) && placeProcess(&p, u.Owner, node.Devices) {
			node.Processes = append(node.Processes, p)
		}
	}
	slices.SortFunc(node.Processes, func(a, b gpu.Process) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.DeviceID, b.DeviceID), a.Location.Compare(b.Location))
	})
	return complete
}

// apus returns the addresses of the GPUs that are known to be APUs.
func (s *Source) apus() map[string]bool {
	result := map[string]bool{}
	for _, r := range s.readers {
		if r.read() {
			r.apu = r.result.APU
		}
		result[r.address] = r.apu
	}
	return result
}

// placeProcess sets the device of a process: the partition of a GPU that is divided, by its ID or, if that could not be read, by its
// location. It reports whether the node has the GPU.
func placeProcess(p *gpu.Process, owner scan.Owner, devices []gpu.Device) bool {
	i := slices.IndexFunc(devices, func(d gpu.Device) bool { return d.Info.PCIAddress == owner.Address })
	if i < 0 {
		return false
	}
	whole := &devices[i]
	divided := i+1 < len(devices) && devices[i+1].Info.PCIAddress == owner.Address
	switch {
	case whole.ID == "":
		p.Location = whole.Location()
		if divided {
			p.Location.Partition = gpu.Some(owner.Partition)
		}
	case divided:
		p.DeviceID = device.PartitionID(whole.ID, owner.Partition)
	default:
		p.DeviceID = whole.ID
	}
	return true
}
