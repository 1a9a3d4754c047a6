// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package differential compares what two sources tell of the same node, value by value: every difference must be
// explained, and every explanation must be of a difference.
package differential
