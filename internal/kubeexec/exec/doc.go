// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package exec runs the vendors' tools in containers by pods/exec. A Runner is a command.Runner in one container, a Client an
// Executor through the API server of one cluster.
//
// What is run is fixed: two scripts that are constants of this package, tools that are known by name, and arguments that are
// constants or checked numbers. Neither a configuration nor the output of a pod ever becomes part of a command.
package exec
