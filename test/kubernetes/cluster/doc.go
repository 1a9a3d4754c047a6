// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster is the harness of the end-to-end tests on a real Kubernetes: the paths of the node that test/kubernetes/run.sh starts,
// its clients, how images get into it, and how its components are frozen, ended and observed.
package cluster
