// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import "github.com/otelgpu/gpureceiver/internal/gpu"

// maxModeValue bounds the words of a driver.
const maxModeValue = 64

// recordModes records what each mode is set to. The value is an attribute: a mode that changes starts another series.
func recordModes(p *devicePoints) {
	for mode, name := range modes {
		if value := p.device.Modes[mode].Value; value != "" {
			p.builder.RecordHwGpuModeCurrentDataPoint(p.ts, 1, name, value[:min(len(value), maxModeValue)], p.device.ID, p.identity...)
		}
	}
}

// recordPendingModes records 1 for each mode that has a pending value, and 0 for each mode that had one before.
func recordPendingModes(p *devicePoints) {
	for mode, name := range modes {
		pending, ok := p.device.Modes[mode].Pending.Get()
		p.past.pendingModes[mode] = p.past.pendingModes[mode] || pending
		if ok && p.past.pendingModes[mode] {
			p.builder.RecordHwGpuModePendingDataPoint(p.ts, flag(pending), name, p.device.ID, p.identity...)
		}
	}
}

// vgpuLicensed is 1 if the virtual GPU is licensed.
func vgpuLicensed(d *gpu.Device) gpu.Opt[int64] { return flagOf(d.VGPULicensed) }
