// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package view

import "time"

// User is who uses or holds a GPU, as far as it is known.
type User struct {
	Namespace   *string `json:"namespace"`    // k8s.namespace.name
	Pod         *string `json:"pod"`          // k8s.pod.name
	PodUID      *string `json:"pod_uid"`      // k8s.pod.uid
	Container   *string `json:"container"`    // k8s.container.name
	ContainerID *string `json:"container_id"` // container.id
	// ContainerName is the name of a guest, or of a container without an ID.
	ContainerName  *string `json:"container_name"`
	WorkloadKind   *string `json:"workload_kind"`   // kind of the workload, such as Job
	Workload       *string `json:"workload"`        // name of the workload
	SlurmJob       *string `json:"slurm_job"`       // job ID of Slurm
	SlurmSLUID     *string `json:"slurm_sluid"`     // Slurm 26.05 if it names cgroups by it
	SlurmUser      *string `json:"slurm_user"`      // user of the Slurm job
	SlurmAccount   *string `json:"slurm_account"`   // account of the Slurm job
	SlurmPartition *string `json:"slurm_partition"` // partition of the Slurm job
	BatchSystem    *string `json:"batch_system"`    // batch system other than Slurm
	BatchJob       *string `json:"batch_job"`       // of another batch system than Slurm
	SystemdUnit    *string `json:"systemd_unit"`    // unit of systemd
	// Labels are labels of the pod (k8s.pod.label.*), if the receiver sends them.
	Labels map[string]string `json:"labels,omitempty"`
}

// Container is a container, job or unit that holds or uses one GPU.
type Container struct {
	User
	Allocated   *bool    `json:"allocated"`          // it holds the GPU; null: not known
	Resource    *string  `json:"resource"`           // k8s.resource.name
	Allocator   *string  `json:"allocator"`          // what allocated the GPU, such as device_plugin or dra
	Sharing     *string  `json:"sharing"`            // how the GPU is shared, such as mps or time_slicing
	Share       *float64 `json:"share"`              // of the GPU that it was given; null: the whole GPU, or not known
	Memory      *float64 `json:"memory_bytes"`       // GPU memory that its processes use
	MemoryLimit *float64 `json:"memory_limit_bytes"` // limit of its GPU memory
	Utilization *float64 `json:"utilization"`        // of the SMs or compute units, by its processes
	Power       *float64 `json:"power_watts"`        // power that is attributed to it
	Energy      *float64 `json:"energy_joules"`      // energy that is attributed to it
	IdleTime    *float64 `json:"idle_seconds"`       // the counter: how long it held the GPU and did not use it
	// IdleSince is since when it holds the GPU and does not use it; null: it uses the GPU, or has not been idle for long enough.
	IdleSince *time.Time `json:"idle_since"`
}

// Process is a process on one GPU.
type Process struct {
	User
	PID                         int        `json:"pid"`                           // process ID
	GPU                         string     `json:"gpu"`                           // hw.id
	GPUIndex                    *int       `json:"gpu_index"`                     // hw.gpu.index
	Node                        string     `json:"node"`                          // name of the node
	Cluster                     *string    `json:"cluster"`                       // k8s.cluster.name; null outside clusters
	Type                        *string    `json:"type"`                          // process.gpu.type
	Name                        *string    `json:"name"`                          // process.executable.name
	Command                     *string    `json:"command"`                       // process.command
	CommandLine                 *string    `json:"command_line"`                  // process.command_line
	Owner                       *string    `json:"owner"`                         // user that runs it
	UserID                      *string    `json:"user_id"`                       // ID of the user that runs it
	Started                     *time.Time `json:"started"`                       // when it started
	Memory                      *float64   `json:"memory_bytes"`                  // GPU memory that it uses
	Utilization                 *float64   `json:"utilization"`                   // of the SMs or compute units
	MemoryControllerUtilization *float64   `json:"memory_controller_utilization"` // of the memory controller
	EncoderUtilization          *float64   `json:"encoder_utilization"`           // of the video encoder
	DecoderUtilization          *float64   `json:"decoder_utilization"`           // of the video decoder
}
