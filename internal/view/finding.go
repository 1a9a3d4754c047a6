// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"
	"time"
)

// Severity is how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	SeverityError   Severity = "error"   // a GPU does not work
	SeverityWarning Severity = "warning" // a GPU works badly, or nothing is known about it
	SeverityInfo    Severity = "info"    // something to know, with which the GPU works
)

// Finding is something that is wrong now, or was, and what to do about it.
type Finding struct {
	Kind        string     `json:"kind"`        // gpu_failed, gpu_degraded, unreadable, missing, stale, throttled, remap, xid
	Severity    Severity   `json:"severity"`    // error, warning, info
	Cluster     *string    `json:"cluster"`     // k8s.cluster.name; null outside clusters
	Node        *string    `json:"node"`        // null: the cluster as a whole
	GPU         *string    `json:"gpu"`         // hw.id; null: the node as a whole
	Index       *int       `json:"index"`       // hw.gpu.index of the GPU
	Source      *string    `json:"source"`      // hw.gpu.source.name of what is unreadable
	Vendor      *string    `json:"vendor"`      // hw.vendor of what is unreadable
	Begin       *time.Time `json:"begin"`       // when it began, at the latest; null: not known
	BeginKnown  bool       `json:"begin_known"` // false: it was there already when this collector first saw the node or the GPU
	End         *time.Time `json:"end"`         // null: it goes on
	Age         *float64   `json:"age_seconds"` // since begin, until end
	Workloads   []string   `json:"workloads"`   // that hold the GPUs, else that use them
	What        string     `json:"what"`        // what is wrong, in one line
	Detail      string     `json:"detail"`      // why, in the data's words
	Consequence string     `json:"consequence"` // what it means for work on the GPUs
	Remedy      string     `json:"remedy"`      // what to do
	Runbook     string     `json:"runbook"`     // the address of the steps
}

// Key identifies a finding within its node or cluster.
func (f *Finding) Key() string {
	parts := []string{f.Kind}
	for _, part := range []*string{f.GPU, f.Source, f.Vendor} {
		if part == nil {
			part = new("")
		}
		parts = append(parts, *part)
	}
	return strings.Join(parts, "\x00")
}

// Begin is since when a finding is there.
type Begin struct {
	Time  time.Time
	Known bool
}
