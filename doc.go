// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate scripts/generate.sh

// Package gpureceiver is an OpenTelemetry Collector receiver, type gpu. It reports the GPUs of a machine or of Kubernetes
// clusters, their processes, and the pods that use them. This package is what a Collector's build imports; the component is in
// the package receiver below it.
package gpureceiver // import "github.com/otelgpu/gpureceiver"
