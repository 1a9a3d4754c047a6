// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var pcieReplay = library.NewFunction("PCIe replays", "nvmlDeviceGetPcieReplayCounter")

// readPCIeReplay reads how many packets were sent again.
func readPCIeReplay(dev *device, d *gpu.Device) {
	n, ok := dev.fields.count(fieldPCIeReplay)
	if dev.fields.lacks(fieldPCIeReplay) {
		var v library.Value
		if v, ok = dev.value(pcieReplay, number(library.Device.GetPcieReplayCounter)); ok {
			n, ok = v.Count()
		}
	}
	d.PCIe.Replays = count(n, ok)
}

// readPCIeDetail reads what went wrong on the link and was put right.
func readPCIeDetail(dev *device, d *gpu.Device) {
	d.PCIe.ReplayRollovers = count(dev.fields.count(fieldPCIeRollovers))
	d.PCIe.Recoveries = count(dev.fields.count(fieldPCIeRecoveries))
	d.PCIe.NAKsReceived = count(dev.fields.count(fieldPCIeNAKsReceived))
	d.PCIe.NAKsTransmitted = count(dev.fields.count(fieldPCIeNAKsTransmitted))
}
