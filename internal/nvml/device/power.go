// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import "github.com/otelgpu/gpureceiver/internal/nvml/library"

// maxPowerLimit returns the highest limit that can be set.
func maxPowerLimit(h library.Device) (uint32, library.Return) {
	_, highest, ret := h.GetPowerManagementLimitConstraints()
	return highest, ret
}

// minPowerLimit returns the lowest limit that can be set.
func minPowerLimit(h library.Device) (uint32, library.Return) {
	lowest, _, ret := h.GetPowerManagementLimitConstraints()
	return lowest, ret
}
