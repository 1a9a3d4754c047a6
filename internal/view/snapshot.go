// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package view has what the gpu_view exporter shows: nodes, their GPUs, processes and containers, events and history, in the form of its
// API. The JSON names are the API's. Units are the units of OTLP: bytes, watts, joules, hertz, seconds, degrees Celsius, and shares from 0
// to 1. A value that was not read is null; a list without entries is empty.
//
// Begin with [Snapshot]. internal/view/fleet makes it from OTLP, the other packages below this one read it.
package view // import "github.com/otelgpu/gpureceiver/internal/view"

import "time"

// Snapshot is everything that is known at one moment. It is shared: nothing that it refers to is ever changed.
type Snapshot struct {
	Time       time.Time `json:"time"`
	Instance   string    `json:"instance"`   // the host on which the exporter runs
	Generation uint64    `json:"generation"` // grows with every message that changes something
	Clusters   []Cluster `json:"clusters"`   // by name
	Nodes      []*Node   `json:"nodes"`      // by cluster and name
}

// Cluster is a Kubernetes cluster that was named by a node or by a source.
type Cluster struct {
	Name     string    `json:"name"`      // k8s.cluster.name
	Sources  []Source  `json:"sources"`   // sources that read the cluster as a whole
	Readable *bool     `json:"readable"`  // null: no source says so
	LastSeen time.Time `json:"last_seen"` // when the last message about it arrived

	Begins map[string]Begin `json:"-"` // of its findings, by their keys
}

// Source is one way in which GPUs are read, and its state (hw.gpu.source.readable, hw.gpu.source.failure).
type Source struct {
	Name     string   `json:"name"`     // hw.gpu.source.name
	Vendor   *string  `json:"vendor"`   // hw.vendor
	Readable bool     `json:"readable"` // the source can be read
	Reasons  []string `json:"reasons"`  // error.type of what it cannot read now
}

// State is how recent a node's data are.
type State string

// The states of a node.
const (
	Live  State = "live"
	Stale State = "stale" // silent for three intervals
)

// Node is a machine with GPUs, or without.
type Node struct {
	Name      string            `json:"name"`             // k8s.node.name, else host.name
	Host      *string           `json:"host"`             // host.name
	Cluster   *string           `json:"cluster"`          // k8s.cluster.name; null outside clusters
	State     State             `json:"state"`            // live, or stale: silent for three intervals
	Readable  *bool             `json:"readable"`         // false: a source cannot read it; null: no source says so
	Sources   []Source          `json:"sources"`          // sources that read its GPUs
	LastSeen  time.Time         `json:"last_seen"`        // by the clock of this collector
	Interval  *float64          `json:"interval_seconds"` // between the last messages; null before the second
	Drivers   []Driver          `json:"drivers"`          // vendors' drivers on it
	Labels    map[string]string `json:"labels"`           // k8s.node.label.*
	GPUCount  *int              `json:"gpu_count"`        // hw.gpu.count visible, packages
	Missing   *int              `json:"missing"`          // hw.gpu.count missing
	Unmanaged *int              `json:"unmanaged"`        // hw.gpu.count unmanaged
	Memory    Memory            `json:"memory"`           // sums over packages
	GPUs      []*GPU            `json:"gpus"`             // by index, then ID; each partition behind its package

	Begins map[string]Begin `json:"-"` // of its findings, by their keys
}

// Driver is a vendor's driver on a node.
type Driver struct {
	Vendor  string `json:"vendor"`  // hw.vendor
	Version string `json:"version"` // version of the driver
}
