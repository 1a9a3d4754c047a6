// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package exectest simulates what package exec talks to: an API server and containers with a tool in them.
package exectest
