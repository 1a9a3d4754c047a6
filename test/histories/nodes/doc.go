// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodes plays histories of one node, from the source to the sent messages: NVIDIA GPUs by NVML and by nvidia-smi, with a kubelet,
// an API server, pods and processes; AMD GPUs by the driver's files and by the tools. After each read the message must be consistent in
// itself, with the messages before it and with the events. When all faults are over, it must show the true state of the node.
package nodes
