// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import "time"

// PodChange is what happened to a pod that requests GPUs, as the Kubernetes API has it. What does not apply to the event, or is not known, is empty.
type PodChange struct {
	Namespace, Name, UID string
	Node                 string            // empty before it is scheduled
	Owners               []Owner           // from the direct owner to the topmost one that could be read
	Labels               map[string]string // by their full attribute names
	Requests             []ResourceCount   // by resource
	Phase                string            // Pending, Running, Succeeded, Failed, Unknown
	PreviousPhase        string
	Reason               string // why it is pending, was evicted or has failed
	Condition            *PodCondition
	Container            *ContainerChange
	LastSeen             time.Time // of a pod whose end was not seen: when it was last known to exist
}

// ResourceCount is how many of a resource, such as nvidia.com/gpu, are requested.
type ResourceCount struct {
	Resource string
	Count    Opt[int64] // absent if it is not known
}

// PodCondition is a condition of a pod.
type PodCondition struct {
	Type   string // Ready
	Status string // True, False, Unknown
	Reason string
}

// ContainerChange is what happened to a container of a pod.
type ContainerChange struct {
	Name, ID string
	Restarts int64
	// Reason and ExitCode are of the instance that ended last; the reason is the container runtime's: OOMKilled, Error, Completed.
	Reason   string
	ExitCode Opt[int64]
}
