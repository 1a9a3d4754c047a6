// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package collector tests the built otelcol-gpu as a whole, on a simulated node: `make test-collector`.
//
// Each test starts the program as a user would, with a configuration and a scenario of its own, and checks its data, its log and its exit.
package collector
