// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

// Container is a holder or a user of devices: a container, a job of a batch system, or a systemd unit. A job in a container has the
// attributes of both and is a user separate from the container. Unknown values are empty. Processes and holders share containers, so a
// container is never changed after it was published.
type Container struct {
	Namespace string // k8s.namespace.name
	PodName   string
	PodUID    string
	Name      string // k8s.container.name
	ID        string // container.id, without the runtime's prefix
	// RuntimeName is container.name: of an LXC, LXD, Incus, Proxmox or systemd-nspawn guest, or of a container without an ID; with Runtime
	// the name that this runtime has for the container with the ID.
	RuntimeName string

	// Runtime, ImageName and ImageTags are known if the container's runtime was queried.
	Runtime   string   // container.runtime.name: docker, podman, containerd
	ImageName string   // container.image.name
	ImageTags []string // container.image.tags

	Owners []Owner           // from the direct owner to the topmost one
	Labels map[string]string // further resource attributes, by their full names

	SlurmJob       string // slurm.job.id
	SlurmSLUID     string // slurm.job.sluid
	SlurmUser      string // slurm.job.user
	SlurmAccount   string // slurm.job.account
	SlurmPartition string // slurm.job.partition
	BatchSystem    string // batch.system: the system that manages BatchJob
	BatchJob       string // batch.job.id: the job, task or slot of a batch system other than Slurm

	SystemdUnit string // only outside of containers and jobs
}

// InContainer reports whether it is or runs in a container or a guest.
func (c *Container) InContainer() bool {
	return c.PodUID != "" || c.PodName != "" || c.ID != "" || c.RuntimeName != ""
}

// InJob reports whether it is a job of a batch system.
func (c *Container) InJob() bool { return c.SlurmJob != "" || c.SlurmSLUID != "" || c.BatchJob != "" }

// Job identifies a job on its machine. It is empty if the container is not a job.
type Job struct{ Slurm, SLUID, BatchSystem, Batch string }

// Job returns what identifies the job.
func (c *Container) Job() Job {
	return Job{Slurm: c.SlurmJob, SLUID: c.SlurmSLUID, BatchSystem: c.BatchSystem, Batch: c.BatchJob}
}

// Sharing is how the holders of a device share it (hw.gpu.sharing).
type Sharing uint8

// The ways of sharing.
const (
	SharingExclusive Sharing = iota
	SharingTimeSlicing
	SharingMPS
	SharingClaim // several containers have one DRA claim
	// SharingReplicas: one of several replicas of a device, either time-sliced or under MPS. The kubelet does not report
	// which, and no process has shown it yet.
	SharingReplicas
	SharingFraction // each holder was given a part of the device, by a scheduler or a device plugin that shares GPUs
	NumSharings
)

// Allocator is the component that allocates a device (hw.gpu.allocator).
type Allocator uint8

// The allocators.
const (
	AllocatorDevicePlugin Allocator = iota
	AllocatorDRA                    // dynamic resource allocation
	AllocatorSlurm
	NumAllocators
)

// Holder is a container or a job to which a device is allocated, whatever the number of replicas.
type Holder struct {
	Container *Container
	Resource  string // k8s.resource.name: nvidia.com/gpu; for DRA the name of the driver; empty for Slurm
	Allocator Allocator
	Sharing   Sharing
	Virtual   bool // the container has one of the device's virtual GPUs (vGPU), which has a part of the memory

	// Only with SharingFraction.
	Share       Opt[float64] // of the device that the container was given, above 0 and at most 1
	MemoryLimit Opt[int64]   // bytes that the container may have
}

// ContainerUse is one container, job or unit on one leaf device: whether it holds the device and how much it uses the device. A container can hold
// a device without using it, and use a device without holding it.
type ContainerUse struct {
	Container *Container
	DeviceID  string // the leaf device: the MIG instance, not its GPU

	// Allocated is whether the container holds the device, whatever the number of replicas; absent if the allocations could not
	// be read. Resource, Allocator, Sharing and Share are as in Holder, and valid only if it is true.
	Allocated Opt[bool]
	Resource  string
	Allocator Allocator
	Sharing   Sharing
	Share     Opt[float64]

	Utilization [NumTasks]Opt[float64] // fraction of the device's time
	MemoryUsage Opt[int64]             // bytes
	MemoryLimit Opt[int64]             // bytes; of the only holder, and of a holder that was given a part of the device's memory
	Power       Opt[float64]           // watts
	Energy      Counter[float64]       // joules, since the container was first seen on the device
	IdleTime    Counter[float64]       // seconds during which the container held the device and ran nothing on it
	BusyTime    Counter[float64]       // seconds during which it ran something; counted together with IdleTime
}
