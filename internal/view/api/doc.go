// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package api is the HTTP API of the gpu_view exporter: JSON, CSV and server-sent events over a view.Reader.
//
// Begin with [New]. routes.go is the table from which the handler and the OpenAPI document are made.
package api // import "github.com/otelgpu/gpureceiver/internal/view/api"
