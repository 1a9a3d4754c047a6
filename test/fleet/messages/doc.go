// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package messages makes the OTLP messages of a simulated fleet, as so many agents send them: nodes of NVIDIA GPUs whose processes are in
// pods. The receiver's own code records them, so that they have the metrics and attributes of the default configuration.
package messages
