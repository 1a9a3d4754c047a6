// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package compat has the formats in which three kinds of existing clients expect the answers of a GPU service: A of a fleet's collector, B
// of an agent on one machine, C of a fleet manager. docs/reference/api-clients.md names their routes.
//
// The formats are built from the same snapshot as the API. They count in MiB, MHz and percent, and know no partitions: a divided GPU is one
// entry. A value that was not read is null, although the services that had these formats first return 0.
package compat // import "github.com/otelgpu/gpureceiver/internal/view/compat"
