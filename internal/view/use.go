// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package view

import "time"

// User is who uses or holds a GPU, as far as it is known.
type User struct {
	Namespace   *string `json:"namespace"`
	Pod         *string `json:"pod"`
	PodUID      *string `json:"pod_uid"`
	Container   *string `json:"container"`
	ContainerID *string `json:"container_id"`
	// ContainerName is the name of a guest, or of a container without an ID.
	ContainerName  *string `json:"container_name"`
	WorkloadKind   *string `json:"workload_kind"`
	Workload       *string `json:"workload"`
	SlurmJob       *string `json:"slurm_job"`
	SlurmSLUID     *string `json:"slurm_sluid"` // Slurm 26.05 if it names cgroups by it
	SlurmUser      *string `json:"slurm_user"`
	SlurmAccount   *string `json:"slurm_account"`
	SlurmPartition *string `json:"slurm_partition"`
	BatchSystem    *string `json:"batch_system"`
	BatchJob       *string `json:"batch_job"` // of another batch system than Slurm
	SystemdUnit    *string `json:"systemd_unit"`
	// Labels are labels of the pod (k8s.pod.label.*), if the receiver sends them.
	Labels map[string]string `json:"labels,omitempty"`
}

// Container is a container, job or unit that holds or uses one GPU.
type Container struct {
	User
	Allocated   *bool    `json:"allocated"` // it holds the GPU; null: not known
	Resource    *string  `json:"resource"`  // k8s.resource.name
	Allocator   *string  `json:"allocator"`
	Sharing     *string  `json:"sharing"`
	Share       *float64 `json:"share"` // of the GPU that it was given; null: the whole GPU, or not known
	Memory      *float64 `json:"memory_bytes"`
	MemoryLimit *float64 `json:"memory_limit_bytes"`
	Utilization *float64 `json:"utilization"`
	Power       *float64 `json:"power_watts"`
	Energy      *float64 `json:"energy_joules"`
	IdleTime    *float64 `json:"idle_seconds"` // the counter: how long it held the GPU and did not use it
	// IdleSince is since when it holds the GPU and does not use it; null: it uses the GPU, or has not been idle for long enough.
	IdleSince *time.Time `json:"idle_since"`
}

// Process is a process on one GPU.
type Process struct {
	User
	PID                         int        `json:"pid"`
	GPU                         string     `json:"gpu"` // hw.id
	GPUIndex                    *int       `json:"gpu_index"`
	Node                        string     `json:"node"`
	Cluster                     *string    `json:"cluster"`
	Type                        *string    `json:"type"` // process.gpu.type
	Name                        *string    `json:"name"` // process.executable.name
	Command                     *string    `json:"command"`
	CommandLine                 *string    `json:"command_line"`
	Owner                       *string    `json:"owner"`
	UserID                      *string    `json:"user_id"`
	Started                     *time.Time `json:"started"`
	Memory                      *float64   `json:"memory_bytes"`
	Utilization                 *float64   `json:"utilization"` // of the SMs or compute units
	MemoryControllerUtilization *float64   `json:"memory_controller_utilization"`
	EncoderUtilization          *float64   `json:"encoder_utilization"`
	DecoderUtilization          *float64   `json:"decoder_utilization"`
}
