// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package query answers questions about a view.Snapshot: which nodes and GPUs a request names, sums, workloads, processes, and what can
// be read. All functions are pure, and nothing that they return may be changed.
//
// Begin with [Nodes]. errors.go has what a question can have wrong.
package query // import "github.com/otelgpu/gpureceiver/internal/view/query"
