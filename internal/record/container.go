// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// recordContainers emits one resource for each container that holds or uses a device.
func (r *Recorder) recordContainers(pcommon.Timestamp, *gpu.Node) {}
