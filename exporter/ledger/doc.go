// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate ../../scripts/generate.sh

// Package gpuledgerexporter is an OpenTelemetry Collector exporter, type gpu_ledger. It keeps what the gpu receiver sends in a database:
// events of its logs pipelines, and who held and used each GPU, hour by hour, from its metrics pipelines.
//
// The way of a record: log_rows.go makes rows of it, table.go the statement that merges a row with the one of the same key. The way of
// metrics: reads.go collects what each GPU's read says, bill.go divides the time between two reads among its holders, metric_rows.go adds
// it to the rows of the hour. Both write a batch in one transaction (database.go).
package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"
