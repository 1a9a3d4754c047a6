// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

// Container is a container that holds or uses devices, as far as it is known. Containers are shared between processes and
// holders and are never changed after they were handed out.
type Container struct {
	Namespace string // k8s.namespace.name
	PodName   string
	PodUID    string
	Name      string // k8s.container.name
	ID        string // container.id, without the runtime's prefix

	Owners []Owner           // from the immediate owner up
	Labels map[string]string // further resource attributes by their full names

	// Where there is no Kubernetes: what the cgroup path shows instead.
	SystemdUnit string
	SlurmJob    string
}

// Owner is an object that owns a pod, directly or through others.
type Owner struct{ Kind, Name, UID string }

// Sharing is how a device is shared between its holders (hw.gpu.sharing).
type Sharing uint8

// The ways of sharing.
const (
	SharingExclusive Sharing = iota
	SharingTimeSlicing
	SharingMPS
	SharingClaim // one DRA claim, several containers
	// SharingReplicas: one of several slots of a device, time-sliced or under MPS; the kubelet does not tell which, and
	// no process has shown it yet.
	SharingReplicas
	NumSharings
)

// Holder is one container to which a device is allocated, however many slots of it.
type Holder struct {
	Container *Container
	Resource  string // k8s.resource.name: nvidia.com/gpu; for DRA the driver's name
	DRA       bool   // allocated by dynamic resource allocation, else by a device plugin
	Sharing   Sharing
}

// ContainerUse is one container on one leaf device: what it holds of it and what it uses. Holding and using are separate
// facts; either may be without the other.
type ContainerUse struct {
	Container *Container
	DeviceID  string // the leaf device: the MIG instance, not its GPU

	// Allocated tells whether the container holds the device, however many slots of it; absent where the allocations
	// could not be read. Resource, DRA and Sharing are as in Holder, and mean nothing where it is not true.
	Allocated Opt[bool]
	Resource  string
	DRA       bool
	Sharing   Sharing

	Utilization [NumTasks]Opt[float64] // fraction of the device's time
	MemoryUsage Opt[int64]             // bytes
	MemoryLimit Opt[int64]             // bytes; only of a container that holds the device alone
	Power       Opt[float64]           // watts
	Energy      Counter[float64]       // joules, since the container was first seen on the device
	IdleTime    Counter[float64]       // seconds in which the container held the device and ran nothing on it
}
