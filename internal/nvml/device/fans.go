// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var (
	fanCount   = library.NewFunction("number of fans", "nvmlDeviceGetNumFans")
	fanSpeed   = library.NewFunction("fan speed", "nvmlDeviceGetFanSpeed")
	fanSpeedV2 = library.NewFunction("fan speed", "nvmlDeviceGetFanSpeed_v2")
)

const maxFans = 16

// readFans reads the speed of each fan as a fraction of its highest. A fan may turn faster than that.
func readFans(dev *device, d *gpu.Device) {
	if !dev.Has(fanCount) {
		if v, ok := dev.number32(fanSpeed, library.Device.GetFanSpeed); ok {
			addFan(d, 0, v)
		}
		return
	}
	if !dev.Supported(fanSpeedV2) {
		return
	}
	n, known := dev.constants[fanCount]
	if !known {
		if n, known = dev.value(fanCount, number(library.Device.GetNumFans)); !known {
			return
		}
		dev.constants[fanCount] = n
	}
	for fan := range int(min(n.Unsigned, maxFans)) {
		if v, ok := dev.value(fanSpeedV2, numberOf(library.Device.GetFanSpeed_v2, fan)); ok {
			addFan(d, fan, v)
		}
	}
}

func addFan(d *gpu.Device, fan int, percent library.Value) {
	d.Fans = append(d.Fans, gpu.Fan{Location: "fan" + strconv.Itoa(fan), Ratio: gpu.Some(percent.Real / 100)})
}
