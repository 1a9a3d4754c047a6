// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package process completes the processes of a node with what the machine's process table tells of them: when they were
// started, by which executable, and who runs them.
//
// A driver tells process ids of the machine's first PID namespace. A process table that shows another namespace would
// give the wrong process under the same number, so it is refused (see Reader).
package process
