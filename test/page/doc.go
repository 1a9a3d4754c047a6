// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package page tests the page of the gpu_view exporter in a real Chromium: what is on the page equals what the API says.
//
// Most tests show generated fleets. Others start the built otelcol-gpu, which OTELCOL_GPU names, on simulated nodes: NVIDIA's, AMD's, one
// without GPUs, one that cannot be read.
//
// It is a module of its own, so that the driver of the browser is no dependency of the receiver. make test-page runs it. Without
// Chromium every test says so and is skipped.
package page // import "github.com/otelgpu/gpureceiver/test/page"
