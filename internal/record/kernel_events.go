// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// OfKernelLog reports whether an enabled event of a vendor's GPUs comes from the kernel's log.
func OfKernelLog(e *metadata.EventsConfig, vendor gpu.Vendor) bool {
	switch vendor {
	case gpu.NVIDIA:
		return e.HwGpuXid.Enabled || e.HwGpuLost.Enabled || e.HwGpuSwitchError.Enabled || e.HwGpuPcieError.Enabled
	case gpu.AMD:
		return e.HwGpuRasError.Enabled || e.HwGpuBadPages.Enabled || e.HwGpuReset.Enabled || e.HwGpuRingTimeout.Enabled || e.HwGpuPcieError.Enabled
	default:
		return false
	}
}
