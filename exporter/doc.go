// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate ../scripts/generate.sh

// Package gpuviewexporter is an OpenTelemetry Collector exporter, type gpu_view. It keeps the present and a short history of the GPUs
// that its metrics and logs pipelines bring in memory, and serves them over HTTP: an API and a page.
//
// The exporters of one configuration share one [instance]: the fleet that keeps the data, and the server. The way of a request: server.go
// listens, guard.go refuses what no reader sends, the Collector's HTTP server authenticates, limit.go bounds what is answered at a time,
// handler.go has the routes.
package gpuviewexporter // import "github.com/otelgpu/gpureceiver/exporter"
