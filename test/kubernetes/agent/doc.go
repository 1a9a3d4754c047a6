// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package agent tests attribution on a real node: the built collector beside a real kubelet, with simulated GPUs, a device
// plugin and a driver of dynamic resource allocation of the test's own, and pods whose processes are said to be on the GPUs.
// TestAgent runs it as a process in the node, with what it may read changed from step to step; TestShipped as the pod of the
// shipped manifests.
//
// The container runtime may be too old to know of the Container Device Interface: then a claim's CDI files are written and
// told by the kubelet all the same, but no device node appears in the container, which nothing here looks for.
package agent
