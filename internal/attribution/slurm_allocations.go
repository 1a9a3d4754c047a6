// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/attribution/slurm"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// slurmAllocations finds the jobs of Slurm that hold devices.
type slurmAllocations struct {
	config  SlurmConfig
	vendors map[gpu.Vendor]bool // of this machine's GPUs
}

func newSlurmAllocations(config *SlurmConfig) *slurmAllocations {
	return &slurmAllocations{config: *config, vendors: make(map[gpu.Vendor]bool)}
}

// slurmRead is what a read found out.
type slurmRead struct {
	slurm.Allocations
	err error
}

// read reads what Slurm has allocated.
func (s *slurmAllocations) read(node *gpu.Node) slurmRead {
	if len(node.Devices) > 0 {
		s.vendors[node.Vendor] = true
	}
	var r slurmRead
	if s.config.MappingDir != "" {
		r.Allocations, r.err = slurm.ReadMapping(s.config.MappingDir)
		if r.err == nil && len(s.vendors) > 1 && slices.ContainsFunc(r.names(), isNumber) {
			r.Jobs, r.err = nil, fmt.Errorf("the mapping directory %s names GPUs by numbers, but this machine has GPUs of several vendors: name the files by the "+
				"GPUs' IDs", s.config.MappingDir)
		}
		return r
	}
	r.Allocations, r.err = slurm.ReadDevices(s.config.DevicesPath)
	return r
}

// names returns the names of the devices that jobs hold or may hold.
func (r *slurmRead) names() []string {
	names := slices.Clone(r.Unknown)
	for name := range r.Jobs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func isNumber(name string) bool {
	_, err := strconv.Atoi(name)
	return err == nil
}

// findHolders adds to the devices the jobs that hold them. known is whether the holders other than Slurm's jobs are known.
func (r *slurmRead) findHolders(h *holders, known bool) {
	if r.err != nil {
		h.addProblem("Slurm", fmt.Errorf("attribution: the jobs that hold GPUs are unknown: %w", r.err))
	}
	if r.Jobs == nil {
		clear(h.complete)
		return
	}
	for i := range h.complete {
		h.complete[i] = !known || h.complete[i]
		h.jobsComplete[i] = true
	}
	for _, name := range r.names() {
		leaves := slurmDevices(h, name)
		jobs := r.Jobs[name]
		if slices.Contains(r.Unknown, name) || (len(jobs) > 0 && len(leaves) > 1) {
			// It is not known which job, or which partition.
			for _, i := range leaves {
				h.complete[i], h.jobsComplete[i] = false, false
			}
			continue
		}
		for _, i := range leaves {
			h.holdForJobs(&h.node.Devices[i], jobs)
		}
	}
}

// slurmDevices returns the leaf devices with a name that Slurm's jobs are mapped to: a number, an ID or the name of a device node.
func slurmDevices(h *holders, name string) []int {
	n, err := strconv.Atoi(name)
	if err != nil {
		if leaves := h.devices.Find(name); len(leaves) > 0 {
			return leaves // a device node
		}
		return h.devices.Find(strings.ToLower(name))
	}
	for i := range h.node.Devices {
		d := &h.node.Devices[i]
		if d.Parent == "" && (d.Index == gpu.Some(n) || (!d.Index.Known() && d.CurrentIndex == gpu.Some(n))) {
			return h.devices.Leaves(i)
		}
	}
	return nil
}

// holdForJobs adds jobs to the holders of a device. Several jobs share it.
func (h *holders) holdForJobs(device *gpu.Device, jobs []string) {
	holder := gpu.Holder{Allocator: gpu.AllocatorSlurm}
	if len(jobs) > 1 {
		holder.Sharing = gpu.SharingReplicas
	}
	for _, id := range jobs {
		if holder.Container = h.containers.slurmJob(id, h.users); !isHeldBy(device, holder.Container) {
			device.Holders = append(device.Holders, holder)
		}
	}
}

// slurmJob returns the job that holds a device: one of the users if it runs, with the pod that it runs in.
func (c *containers) slurmJob(id string, users *users) *gpu.Container {
	found := gpu.Container{SlurmJob: id}
	job := c.jobs.get(found.Job())
	if user := users.job(found.Job()); user != nil {
		job.container = user
		return user
	}
	if job.container != nil {
		found = *job.container
	}
	c.jobs.describe(&found)
	return c.intern(&found)
}

// learnDetails notes what the mapping directory says of jobs.
func (s *slurmJobs) learnDetails(details map[string]slurm.Job) {
	for id, d := range details {
		job := s.get(gpu.Job{Slurm: id})
		job.user, job.account, job.partition = cmp.Or(job.user, d.User), cmp.Or(job.account, d.Account), cmp.Or(job.partition, d.Partition)
	}
}
