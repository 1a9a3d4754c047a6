// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"fmt"
	"strings"
)

// UnknownError reports that the snapshot has no such cluster, node or GPU.
type UnknownError struct {
	What string // cluster, node, GPU
	Name string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("unknown %s %q", e.What, e.Name) }

// AmbiguousError reports that a name matches several nodes or GPUs.
type AmbiguousError struct {
	What       string // node, GPU
	Name       string
	Candidates []string // cluster/node, at most maxCandidates
	Total      int      // candidates in all
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s %q stands for %d: %s", e.What, e.Name, e.Total, strings.Join(e.Candidates, ", "))
}

// NoGPUError reports that a cluster is known and that no GPU of it is.
type NoGPUError struct {
	Cluster string
	Reasons []string // of its sources and its nodes' sources; empty: all of them can read
}

func (e *NoGPUError) Error() string { return fmt.Sprintf("cluster %q contains no GPU", e.Cluster) }

// UnreadableError reports that no GPU can be read.
type UnreadableError struct {
	Reasons []string // see Reasons
}

// Remedy says what to do about the first reason of a source; empty without reasons.
func (e *UnreadableError) Remedy() string {
	for _, reason := range e.Reasons {
		if i := strings.LastIndex(reason, ": "); i >= 0 {
			return remedyOfReason(reason[i+len(": "):])
		}
	}
	return ""
}

func (e *UnreadableError) Error() string {
	return "no GPU can be read: " + strings.Join(e.Reasons, "; ")
}
