// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package route turns routes as data into an HTTP handler: methods, parameters, formats of an answer, and errors as problems (RFC 9457).
// The OpenAPI document is generated from the same data.
//
// Begin with [Route] and [Mux].
package route // import "github.com/otelgpu/gpureceiver/internal/view/route"
