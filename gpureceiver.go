// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package gpureceiver is an OpenTelemetry Collector receiver, type gpu: the GPUs of a machine or a Kubernetes fleet, their
// processes, and the pods that use them. This is the component's door; it lives in ./receiver.
package gpureceiver // import "github.com/otelgpu/gpureceiver"

import (
	"go.opentelemetry.io/collector/receiver"

	gpureceiver "github.com/otelgpu/gpureceiver/receiver"
)

// NewFactory returns the factory of the gpu receiver.
func NewFactory() receiver.Factory { return gpureceiver.NewFactory() }
