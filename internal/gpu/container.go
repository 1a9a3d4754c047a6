// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

// Container is a container that holds or uses devices. What is not known is empty. Processes and holders share containers, so they are
// never changed after they were handed out.
type Container struct {
	Namespace string // k8s.namespace.name
	PodName   string
	PodUID    string
	Name      string // k8s.container.name
	ID        string // container.id, without the runtime's prefix

	Owners []Owner           // from the direct owner to the topmost one
	Labels map[string]string // further resource attributes, by their full names

	// Read from the cgroup path where there is no Kubernetes.
	SystemdUnit string
	SlurmJob    string
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
	NumSharings
)

// Holder is a container to which a device is allocated, whatever the number of replicas.
type Holder struct {
	Container *Container
	Resource  string // k8s.resource.name: nvidia.com/gpu; for DRA the name of the driver
	DRA       bool   // allocated by dynamic resource allocation, otherwise by a device plugin
	Sharing   Sharing
	Virtual   bool // the container has one of the device's virtual GPUs (vGPU), which has a part of the memory
}

// ContainerUse is one container on one leaf device: whether it holds the device and how much it uses the device. A container can hold
// a device without using it, and use a device without holding it.
type ContainerUse struct {
	Container *Container
	DeviceID  string // the leaf device: the MIG instance, not its GPU

	// Allocated is whether the container holds the device, whatever the number of replicas; absent if the allocations could not
	// be read. Resource, DRA and Sharing are as in Holder, and valid only if it is true.
	Allocated Opt[bool]
	Resource  string
	DRA       bool
	Sharing   Sharing

	Utilization [NumTasks]Opt[float64] // fraction of the device's time
	MemoryUsage Opt[int64]             // bytes
	MemoryLimit Opt[int64]             // bytes; only for a container that is the only holder
	Power       Opt[float64]           // watts
	Energy      Counter[float64]       // joules, since the container was first seen on the device
	IdleTime    Counter[float64]       // seconds during which the container held the device and ran nothing on it
	BusyTime    Counter[float64]       // seconds during which it ran something; counted together with IdleTime
}
