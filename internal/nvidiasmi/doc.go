// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package nvidiasmi reads NVIDIA GPUs with the tool nvidia-smi. A command.Runner runs the tool, so the same source reads this machine and,
// without an agent, a driver pod.
//
// A read goes through the files in this order: queries.go chooses and runs the commands, the package parse reads what they
// print, node.go assembles the gpu.Node with the GPUs that were seen before (known_gpus.go), and reader.go is the gpu.Source.
//
// queries.go, full_or_table.go and single_gpus.go refer to each other because each of the latter chooses between queries that queries.go runs.
package nvidiasmi
