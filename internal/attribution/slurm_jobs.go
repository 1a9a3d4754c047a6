// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"cmp"
	"maps"

	"github.com/otelgpu/gpureceiver/internal/attribution/cgroup"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// slurmJobs keeps what is known of Slurm's jobs in addition to their IDs, while they have a process or hold a device.
type slurmJobs struct {
	read  uint64 // number of the read
	known map[gpu.Job]*slurmJob
}

// slurmJob is what is known of a job. It stays as it was first known, so that the attributes of the job's resource do not change.
type slurmJob struct {
	user, account, partition string
	container                *gpu.Container // as it was last seen to run; nil if it was not
	read                     uint64         // the last read that had it
}

func newSlurmJobs() *slurmJobs { return &slurmJobs{known: make(map[gpu.Job]*slurmJob)} }

// begin starts a read, and forgets the jobs that were not there for keepContainers reads.
func (s *slurmJobs) begin(read uint64) {
	s.read = read
	maps.DeleteFunc(s.known, func(_ gpu.Job, j *slurmJob) bool { return j.read+keepContainers < read })
}

// get returns what is known of a job, which this read has.
func (s *slurmJobs) get(job gpu.Job) *slurmJob {
	found := s.known[job]
	if found == nil {
		found = &slurmJob{}
		s.known[job] = found
	}
	found.read = s.read
	return found
}

// learnUser notes the user of the job that a process is in. Slurm's own processes in a job run as root.
func (s *slurmJobs) learnUser(ref cgroup.Ref, p *gpu.Process) {
	if (ref.SlurmJob == "" && ref.SlurmSLUID == "") || p.Owner == "" || p.UserID == gpu.Some(int64(0)) {
		return
	}
	job := s.get(gpu.Job{Slurm: ref.SlurmJob, SLUID: ref.SlurmSLUID, BatchSystem: ref.BatchSystem, Batch: ref.BatchJob})
	job.user = cmp.Or(job.user, p.Owner)
}

// describe sets what is known of a container that is a job.
func (s *slurmJobs) describe(c *gpu.Container) {
	if c.SlurmJob == "" && c.SlurmSLUID == "" {
		return
	}
	job := s.get(c.Job())
	c.SlurmUser, c.SlurmAccount, c.SlurmPartition = job.user, job.account, job.partition
}
