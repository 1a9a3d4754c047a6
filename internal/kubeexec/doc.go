// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeexec reads the GPUs of the nodes of Kubernetes clusters without an agent: it runs the vendors' tools in the pods that carry
// them, such as the driver pods of the NVIDIA GPU operator. It has no parser: a pod is a command.Runner (package exec), and the sources are
// the sources of the local scrapers.
//
// It keeps clusters, plans the container that is read on each node, schedules the reads, shares the nodes between replicas
// (package shard), and passes completed nodes to a Sink.
//
// cluster.go and node.go refer to each other because a cluster has its running nodes, and a node reads within the limits of its
// cluster; unread.go has the rest of node's methods, what is sent of a node that could not be read.
package kubeexec
