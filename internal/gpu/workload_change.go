// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import "time"

// WorkloadChange is what happened to a workload, the topmost owner of pods that request GPUs. What does not apply to the event is empty.
type WorkloadChange struct {
	Namespace string            // of its pods
	Owners    []Owner           // of its pods, from the direct owner to the workload
	Labels    map[string]string // of its pods, by their full attribute names
	Requests  []ResourceCount   // of its pods that have not ended, by resource
	Pods      []string          // the names of these pods, sorted
	// Previous is how many pods it had when it was reported before, of a change. Lasted is how long it had pods, of its end.
	Previous Opt[int64]
	Lasted   Opt[time.Duration]
	// LastSeen is when the last pods of a workload are last known to have existed, for the end of a workload if the end of its pods was not
	// observed.
	LastSeen time.Time
}
