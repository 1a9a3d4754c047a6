// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package view

import "time"

// List is one page of a list. Next is the cursor of the next page, null at the last.
type List[T any] struct {
	Time  time.Time `json:"time"`  // when the answer was made
	Total int       `json:"total"` // entries on all pages
	Next  *string   `json:"next"`  // cursor of the next page; null: this is the last page
	Items []T       `json:"items"` // entries of this page
}

// Summary is the sum over the packages of a fleet, or of one group of it. Partitions are never counted beside their package.
type Summary struct {
	By        *string `json:"by"`        // cluster, node, namespace, workload, model; null: everything
	Group     *string `json:"group"`     // the group's name; null: everything, or those without one
	Cluster   *string `json:"cluster"`   // k8s.cluster.name of the group; null: several clusters, or none
	Namespace *string `json:"namespace"` // of a workload or a namespace
	Kind      *string `json:"kind"`      // of a workload
	Node      *string `json:"node"`      // of a node, or of a workload other than a pod

	Nodes           int `json:"nodes"`            // number of nodes
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
	Processes         *int     `json:"processes"`           // number of processes on the GPUs; null: no source reports processes
}

// Workload is what a workload holds and uses: the top owner of pods, a pod without owner, a job, a unit.
type Workload struct {
	Cluster   *string    `json:"cluster"`       // k8s.cluster.name; null outside clusters
	Node      *string    `json:"node"`          // of a workload other than a pod
	Namespace *string    `json:"namespace"`     // k8s.namespace.name
	Kind      *string    `json:"kind"`          // kind of the workload, such as Job
	Name      string     `json:"name"`          // name of the workload
	Pods      int        `json:"pods"`          // number of its pods on the nodes
	Held      *int       `json:"held"`          // devices allocated to it; null: not known
	Used      int        `json:"used"`          // devices on which it has processes, memory or load, and is not idle
	Idle      *int       `json:"idle"`          // devices that it holds and has not used for a time; null: not known
	IdleSince *time.Time `json:"idle_since"`    // when the first of them became idle
	Memory    *float64   `json:"memory_bytes"`  // GPU memory that it uses, in sum
	Power     *float64   `json:"power_watts"`   // power of its devices that is attributed to it, in sum
	Energy    *float64   `json:"energy_joules"` // energy of its devices that is attributed to it, in sum
	IdleTime  *float64   `json:"idle_seconds"`  // the counter: the sum over its devices, since they were allocated
	GPUs      []string   `json:"gpus"`          // hw.id
}

// Info says whether GPUs can be read, and what cannot.
type Info struct {
	Time      time.Time    `json:"time"`       // when the answer was made
	Instance  string       `json:"instance"`   // host on which the exporter runs
	Available bool         `json:"available"`  // at least one GPU was read
	GPUs      int          `json:"gpu_count"`  // number of GPUs, without partitions
	Nodes     int          `json:"node_count"` // number of nodes
	Clusters  []Cluster    `json:"clusters"`   // clusters, by name
	Vendors   []string     `json:"vendors"`    // vendors of the GPUs
	Drivers   []Driver     `json:"drivers"`    // drivers of the nodes
	Sources   []NodeSource `json:"sources"`    // sources of all nodes and clusters
}

// NodeSource is a source and the node that it reads.
type NodeSource struct {
	Node    *string `json:"node"`    // node that it reads; null: it reads a cluster as a whole
	Cluster *string `json:"cluster"` // k8s.cluster.name; null outside clusters
	Source
}

// Metrics is every GPU with sums and means beside them.
type Metrics struct {
	Time     time.Time `json:"time"`     // when the answer was made
	Instance string    `json:"instance"` // host on which the exporter runs
	Summary  Summary   `json:"summary"`  // sums and means over all requested GPUs, on all pages
	Total    int       `json:"total"`    // entries on all pages
	Next     *string   `json:"next"`     // cursor of the next page; null: this is the last page
	GPUs     []*GPU    `json:"gpus"`     // entries of this page
}

// GPUMetrics is one GPU, and the partitions into which it is divided.
type GPUMetrics struct {
	Time     time.Time `json:"time"`     // when the answer was made
	Instance string    `json:"instance"` // host on which the exporter runs
	*GPU
	Partitions []*GPU `json:"partitions"` // partitions of the GPU; empty if it is not divided
}

// Health says that the exporter answers, and what it has.
type Health struct {
	Status     string    `json:"status"`     // ok
	Time       time.Time `json:"time"`       // when the answer was made
	Instance   string    `json:"instance"`   // host on which the exporter runs
	Generation uint64    `json:"generation"` // grows with every message that changes something
	Nodes      int       `json:"nodes"`      // number of known nodes
}

// Problem is the form of every error (RFC 9457, application/problem+json).
type Problem struct {
	Type     string   `json:"type"`                 // about:blank
	Title    string   `json:"title"`                // what happened
	Status   int      `json:"status"`               // HTTP status
	Detail   string   `json:"detail"`               // which cluster, node, GPU or parameter
	Remedy   string   `json:"remedy"`               // what to do
	Instance string   `json:"instance"`             // path of the request
	Reasons  []string `json:"reasons,omitempty"`    // of sources that cannot read
	Nodes    []string `json:"candidates,omitempty"` // for an ambiguous name: cluster/node
}

// Tile is a GPU on the page of a fleet: what one rectangle needs, and little more.
type Tile struct {
	ID          string   `json:"id"`                  // hw.id
	Parent      *string  `json:"parent,omitempty"`    // hw.id of the package of a partition
	Node        string   `json:"node"`                // name of the node
	Cluster     *string  `json:"cluster,omitempty"`   // k8s.cluster.name
	Index       *int     `json:"index"`               // hw.gpu.index
	Model       *string  `json:"model"`               // hw.model
	Namespace   *string  `json:"namespace,omitempty"` // of the holder, else of the user, if there is one
	Status      *string  `json:"status"`              // hw.status; null: no source reports it
	Stale       bool     `json:"stale,omitempty"`     // its node is silent
	Throttled   bool     `json:"throttled,omitempty"` // for a reason that is not by design
	Idle        bool     `json:"idle,omitempty"`      // a container holds it and does not use it
	Utilization *float64 `json:"utilization"`         // in hundredths, rounded
	// Temperature is of the hottest sensor of the chip, rounded to degrees Celsius.
	Temperature *float64   `json:"temperature,omitempty"`
	Power       *float64   `json:"power,omitempty"`      // watts / enforced limit, rounded to hundredths
	IdleSince   *time.Time `json:"idle_since,omitempty"` // since when a container holds it and does not use it
	Label       string     `json:"label,omitempty"`      // the value of the requested label of its node
	Memory      *float64   `json:"memory"`               // used / total, rounded to hundredths
}

// Tiles is what changed after a generation: new and changed tiles, and the IDs of those that are gone.
type Tiles struct {
	Generation uint64   `json:"generation"`       // the generation that the answer leads to: the next value of since
	Whole      bool     `json:"whole"`            // everything is in it: drop what was known
	Tiles      []Tile   `json:"tiles"`            // new and changed tiles
	Gone       []string `json:"gone"`             // hw.id of tiles that are gone
	Labels     []string `json:"labels,omitempty"` // the names of the nodes' labels, only in a whole answer
}
