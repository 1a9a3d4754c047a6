// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package view

// Severity is how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	SeverityError   Severity = "error"   // a GPU does not work
	SeverityWarning Severity = "warning" // a GPU works badly, or nothing is known about it
	SeverityInfo    Severity = "info"    // something to know, with which the GPU works
)

// Finding is something that is wrong now, and what to do about it.
type Finding struct {
	Kind     string   `json:"kind"` // gpu_failed, gpu_degraded, unreadable, missing, stale, throttled, remap, xid
	Severity Severity `json:"severity"`
	Cluster  *string  `json:"cluster"`
	Node     *string  `json:"node"` // null: the cluster as a whole
	GPU      *string  `json:"gpu"`  // hw.id; null: the node as a whole
	Index    *int     `json:"index"`
	What     string   `json:"what"`
	Detail   string   `json:"detail"` // why, in the data's words
	Remedy   string   `json:"remedy"` // what to do
}
