// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package nvidiasmi reads NVIDIA GPUs through the tool nvidia-smi: command, text, gpu.Node. It does not know where the tool
// runs; a command.Runner does, so that the same reader serves this machine and a driver pod.
package nvidiasmi
