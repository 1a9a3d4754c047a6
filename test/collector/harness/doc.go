// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package harness runs the built otelcol-gpu as a process of its own and looks at what comes out of it: OTLP, the
// Prometheus endpoint, its log, and what it costs. It is for tests and measurements of the whole collector.
package harness
