// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package harness runs the built otelcol-gpu as a separate process and observes its output: OTLP, the Prometheus endpoint, its log, and its
// cost. It is for tests and measurements of the whole collector.
package harness
