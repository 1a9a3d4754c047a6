// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package view

import "time"

// Team is what a namespace, a Slurm account, a workload, or the pods with one value of a label hold, use and leave idle.
type Team struct {
	By        string    `json:"by"`            // namespace, slurm_account, workload, label
	Name      *string   `json:"name"`          // of the namespace, the account or the workload, or the value of the label; null: those without one
	Cluster   *string   `json:"cluster"`       // k8s.cluster.name; null outside clusters
	Namespace *string   `json:"namespace"`     // of a namespace or a workload
	Kind      *string   `json:"kind"`          // of a workload
	Node      *string   `json:"node"`          // of a workload other than a pod
	Held      *int      `json:"held"`          // devices that are allocated to it now; null: not known
	Used      int       `json:"used"`          // devices on which it has processes, memory or load now, and is not idle
	Idle      *int      `json:"idle"`          // devices that it holds and has not used for a time; null: not known
	HeldTime  *float64  `json:"held_seconds"`  // how long it held devices since the start of the counting, in sum; null: it has held none
	IdleTime  *float64  `json:"idle_seconds"`  // how much of held_seconds the utilization was at most idle_threshold; null: not known
	Power     *float64  `json:"power_watts"`   // now
	Energy    *float64  `json:"energy_joules"` // since the start of the counting
	Since     time.Time `json:"since"`         // the start of the counting: the start of this collector
	GPUs      []string  `json:"gpus"`          // hw.id of the devices that it holds or uses now
}

// Usage is what a workload has held and used since the start of the counting. A name is empty if there is none, or if the workload was added
// to others because there were too many.
type Usage struct {
	Cluster, Node, Namespace, Kind, Workload, Account string
	Labels                                            map[string]string

	Held   float64  // seconds, the sum over devices
	Idle   *float64 // seconds; nil if the utilization was never known
	Energy *float64 // joules
}
