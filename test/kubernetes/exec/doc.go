// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package exec tests the scraper kubernetes_exec on a real Kubernetes: the built collector, in a pod and beside the cluster, runs a replay
// of nvidia-smi in driver pods through the API server, and the tests check its data. test/kubernetes/run.sh runs these tests.
package exec
