// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cgroup

// Ref is what a process runs in, according to its control groups. It is empty for a process in nothing of the kind. A job in a pod and a
// container in a job have both.
type Ref struct {
	PodUID      string // with dashes; for a static pod, the hash of its file
	ContainerID string // without the runtime's prefix; in a pod, the pod's container and not one nested in it
	// ContainerName is the name of an LXC, LXD, Incus, Proxmox or systemd-nspawn guest, which may have containers with an ID in it, or of a
	// containerd or Apptainer container without an ID.
	ContainerName string
	SlurmJob      string // the job id
	SlurmSLUID    string // the job's SLUID, which Slurm 26.05 uses in place of the id, with its leading s
	BatchSystem   string // who manages BatchJob: flux, grid_engine, htcondor, lsf, nomad, pbs or yarn
	BatchJob      string // the job, task, slot or container of another batch system, as its control group names it
	SystemdUnit   string // only outside of containers and jobs
}

// InContainer reports whether the process is in a container, a guest or a pod.
func (r Ref) InContainer() bool {
	return r.PodUID != "" || r.ContainerID != "" || r.ContainerName != ""
}

// InJob reports whether the process is in a job of a batch system.
func (r Ref) InJob() bool { return r.SlurmJob != "" || r.SlurmSLUID != "" || r.BatchJob != "" }
