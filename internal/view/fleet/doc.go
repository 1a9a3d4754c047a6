// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package fleet keeps the present and a short history of all GPUs that OTLP messages of the gpu receiver report, in bounded memory.
// It implements view.Reader.
//
// Begin with [Fleet]. A [message] goes through the points of one OTLP message. The table of metrics (metrics.go) says which points are known,
// what values they can have and how they are shown; all others are ignored and counted. A known point becomes a reading of a node, a device, a process or a container. At the end of a message
// the values of package view are built from the nodes that changed. Readers share these values, which never change.
//
// Order is by the times of the points, age is by the clock of this collector. So a node whose clock is wrong is shown like any other.
package fleet // import "github.com/otelgpu/gpureceiver/internal/view/fleet"
