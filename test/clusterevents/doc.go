// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package clusterevents has tests of the events of pods and workloads that the built collector sends, on a real API server: while it is killed at
// random points, and while there are many pods. `make e2e` runs short forms, `make events-kill` and `make events-load` the long ones.
package clusterevents
