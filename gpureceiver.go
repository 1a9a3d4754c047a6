// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver"

import (
	"go.opentelemetry.io/collector/receiver"

	gpureceiver "github.com/otelgpu/gpureceiver/receiver"
)

// NewFactory returns the factory of the gpu receiver.
func NewFactory() receiver.Factory { return gpureceiver.NewFactory() }
