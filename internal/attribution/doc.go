// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package attribution says who holds the GPUs of a node and who uses them: it joins devices with the kubelet's
// allocations, and processes with their containers, pods and owners.
//
// Holding and using are two facts. What is held is told by the kubelet, by the names of pods and containers; what is used
// by the control groups of processes, by the UID of the pod and the id of the container. They are joined through the
// Kubernetes API, or through the names of the kubelet's log files; where neither may be read they stay two containers.
// Where there is no Kubernetes, control groups tell the systemd unit or the Slurm job instead.
package attribution
