// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeexec reads the GPUs of the nodes of Kubernetes clusters from outside of them: it runs the vendors' tools, by
// pods/exec, in the pods that already carry them, such as the driver pods of the NVIDIA GPU operator. It holds no parser: a
// pod is a command.Runner, and the sources are those of the local scrapers.
//
// What is run is fixed: two scripts that are constants of this package, tools that are known by name, and arguments that
// are constants or checked numbers. Neither a configuration nor what a pod prints ever becomes part of a command.
package kubeexec
