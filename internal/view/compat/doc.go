// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package compat answers existing clients of three kinds of GPU services in the format that they expect:
//
//   - Format A, clients of the collector of a fleet: /api/v1/gpu/nodes, /api/v1/gpu/nodes/{node}, /api/v1/gpu/nodes/{cluster}/{node},
//     /api/v1/gpu/processes and /api/v1/gpu/summary, with the parameter form=a or its media type in Accept. Package api has the same paths.
//   - Format B, clients of an agent on one machine: /gpu/info, /gpu/metrics and /gpu/metrics/{id}.
//   - Format C, clients of a manager of a fleet: /api/v1/monitoring/gpu-metrics.
//
// The formats are built from the same snapshot as the API. They count in MiB, MHz and percent, and know no partitions: a divided GPU is one
// entry. A value that was not read is null, although the services that had these formats first return 0.
package compat // import "github.com/otelgpu/gpureceiver/internal/view/compat"
