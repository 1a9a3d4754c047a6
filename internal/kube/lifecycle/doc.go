// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle follows the pods that request GPUs from their creation to their end, and finds what happens to them: it compares
// what was known of a pod with what the API server has now. It makes no requests.
//
//	pod.go, container.go      what is kept of a pod
//	changes.go, restarts.go   what changed between two states of a pod
//	allocations.go            what its containers have of a node's devices
//	snapshot.go               what its spec and status say, without what may be secret
//	times.go, event_uid.go    when it happened, and how the record of it is identified
//	workloads.go              the topmost owners of the pods
//	tracker.go                all pods and workloads
//	known.go                  what of them outlives the process
package lifecycle
