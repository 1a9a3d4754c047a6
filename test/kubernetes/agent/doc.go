// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package agent tests attribution on a real node: the built collector beside a real kubelet, with simulated GPUs, a device plugin and a
// driver of dynamic resource allocation for tests, and pods whose processes the simulator places on the GPUs. TestAgent runs it as a
// process in the node and changes its access from step to step; TestShipped runs it as the pod of the shipped manifests.
//
// The container runtime may be too old to support the Container Device Interface. The driver then still writes a claim's CDI files and the
// kubelet still reports them, but no device node appears in the container. The tests do not need one.
package agent
