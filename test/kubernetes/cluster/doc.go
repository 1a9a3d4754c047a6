// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster is the harness of the end-to-end tests on a real Kubernetes: where the node that test/kubernetes/run.sh
// brings up has its files, its clients, how images get into it, and how its parts are frozen, ended and looked at.
package cluster
