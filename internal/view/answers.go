// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package view

import "time"

// List is one page of a list. Next is the cursor of the next page, null at the last.
type List[T any] struct {
	Time  time.Time `json:"time"`
	Total int       `json:"total"` // entries on all pages
	Next  *string   `json:"next"`
	Items []T       `json:"items"`
}

// Summary is the sum over the packages of a fleet, or of one group of it. Partitions are never counted beside their package.
type Summary struct {
	By        *string `json:"by"`    // cluster, node, namespace, workload, model; null: everything
	Group     *string `json:"group"` // the group's name; null: everything, or those without one
	Cluster   *string `json:"cluster"`
	Namespace *string `json:"namespace"` // of a workload or a namespace
	Kind      *string `json:"kind"`      // of a workload
	Node      *string `json:"node"`      // of a node, or of a workload other than a pod

	Nodes           int `json:"nodes"`
	UnreadableNodes int `json:"unreadable_nodes"` // that a source cannot read
	StaleNodes      int `json:"stale_nodes"`      // that are silent

	GPUs             int `json:"gpus"`              // each is counted once in the following
	Healthy          int `json:"healthy"`           // hw.status is ok, read recently, and not throttled
	Throttled        int `json:"throttled"`         // hw.status is ok, but heat, the hardware or the power brake slows it down
	Degraded         int `json:"degraded"`          // hw.status
	PredictedFailure int `json:"predicted_failure"` // hw.status
	Failed           int `json:"failed"`            // hw.status
	Unknown          int `json:"unknown"`           // without hw.status
	Stale            int `json:"stale"`             // of nodes that are silent

	Memory            Memory   `json:"memory"`              // sums
	Utilization       *float64 `json:"utilization"`         // mean of the GPUs that have it; a divided GPU counts with the mean of its partitions that have it
	MemoryUtilization *float64 `json:"memory_utilization"`  // used / total of the sums
	Temperature       *float64 `json:"temperature_celsius"` // mean of the GPUs' hottest core sensor
	Power             *float64 `json:"power_watts"`         // sum
	PowerLimit        *float64 `json:"power_limit_watts"`   // sum
	Processes         *int     `json:"processes"`
}

// Workload is what a workload holds and uses: the top owner of pods, a pod without owner, a job, a unit.
type Workload struct {
	Cluster   *string    `json:"cluster"`
	Node      *string    `json:"node"` // of a workload other than a pod
	Namespace *string    `json:"namespace"`
	Kind      *string    `json:"kind"`
	Name      string     `json:"name"`
	Pods      int        `json:"pods"`
	Held      *int       `json:"held"`       // devices allocated to it; null: not known
	Used      int        `json:"used"`       // devices on which it has processes, memory or load, and is not idle
	Idle      *int       `json:"idle"`       // devices that it holds and has not used for a time; null: not known
	IdleSince *time.Time `json:"idle_since"` // when the first of them became idle
	Memory    *float64   `json:"memory_bytes"`
	Power     *float64   `json:"power_watts"`
	Energy    *float64   `json:"energy_joules"`
	IdleTime  *float64   `json:"idle_seconds"` // the counter: the sum over its devices, since they were allocated
	GPUs      []string   `json:"gpus"`         // hw.id
}

// Info says whether GPUs can be read, and what cannot.
type Info struct {
	Time      time.Time    `json:"time"`
	Instance  string       `json:"instance"`
	Available bool         `json:"available"` // at least one GPU was read
	GPUs      int          `json:"gpu_count"`
	Nodes     int          `json:"node_count"`
	Clusters  []Cluster    `json:"clusters"`
	Vendors   []string     `json:"vendors"`
	Drivers   []Driver     `json:"drivers"`
	Sources   []NodeSource `json:"sources"`
}

// NodeSource is a source and the node that it reads.
type NodeSource struct {
	Node    *string `json:"node"`
	Cluster *string `json:"cluster"`
	Source
}

// Metrics is every GPU with sums and means beside them.
type Metrics struct {
	Time     time.Time `json:"time"`
	Instance string    `json:"instance"`
	Summary  Summary   `json:"summary"`
	Total    int       `json:"total"`
	Next     *string   `json:"next"`
	GPUs     []*GPU    `json:"gpus"`
}

// GPUMetrics is one GPU, and the partitions into which it is divided.
type GPUMetrics struct {
	Time     time.Time `json:"time"`
	Instance string    `json:"instance"`
	*GPU
	Partitions []*GPU `json:"partitions"`
}

// Health says that the exporter answers, and what it has.
type Health struct {
	Status     string    `json:"status"` // ok
	Time       time.Time `json:"time"`
	Instance   string    `json:"instance"`
	Generation uint64    `json:"generation"`
	Nodes      int       `json:"nodes"`
}

// Problem is the form of every error (RFC 9457, application/problem+json).
type Problem struct {
	Type     string   `json:"type"`   // about:blank
	Title    string   `json:"title"`  // what happened
	Status   int      `json:"status"` // HTTP status
	Detail   string   `json:"detail"` // which cluster, node, GPU or parameter
	Remedy   string   `json:"remedy"` // what to do
	Instance string   `json:"instance"`
	Reasons  []string `json:"reasons,omitempty"`    // of sources that cannot read
	Nodes    []string `json:"candidates,omitempty"` // for an ambiguous name: cluster/node
}

// Tile is a GPU on the page of a fleet: what one rectangle needs, and little more.
type Tile struct {
	ID          string   `json:"id"`
	Parent      *string  `json:"parent,omitempty"`
	Node        string   `json:"node"`
	Cluster     *string  `json:"cluster,omitempty"`
	Index       *int     `json:"index"`
	Model       *string  `json:"model"`
	Namespace   *string  `json:"namespace,omitempty"` // of the holder, else of the user, if there is one
	Status      *string  `json:"status"`
	Stale       bool     `json:"stale,omitempty"`
	Throttled   bool     `json:"throttled,omitempty"` // for a reason that is not by design
	Idle        bool     `json:"idle,omitempty"`      // a container holds it and does not use it
	Utilization *float64 `json:"utilization"`         // in hundredths, rounded
	Memory      *float64 `json:"memory"`              // used / total, rounded to hundredths
}

// Tiles is what changed after a generation: new and changed tiles, and the IDs of those that are gone.
type Tiles struct {
	Generation uint64   `json:"generation"`
	Whole      bool     `json:"whole"` // everything is in it: drop what was known
	Tiles      []Tile   `json:"tiles"`
	Gone       []string `json:"gone"`
}
