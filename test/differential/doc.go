// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package differential compares two sources' reads of the same node, value by value: every difference must be explained, and every
// explanation must match a difference.
package differential
