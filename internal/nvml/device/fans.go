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
	fanRPM     = library.NewFunction("fan revolutions", "nvmlDeviceGetFanSpeedRPM")
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
	d.Fans = append(d.Fans, gpu.Fan{Location: fanName(fan), Ratio: gpu.Some(percent.Real / 100)})
}

func fanName(fan int) string { return "fan" + strconv.Itoa(fan) }

// readFanRevolutions reads the revolutions a minute that the first fan is set to: the binding asks for no other.
func readFanRevolutions(dev *device, d *gpu.Device) {
	v, ok := dev.number32(fanRPM, func(h library.Device) (uint32, library.Return) {
		s, ret := h.GetFanSpeedRPM()
		return s.Speed, ret
	})
	if !ok || v.Unsigned > maxRevolutions {
		return
	}
	if len(d.Fans) == 0 || d.Fans[0].Location != fanName(0) {
		d.Fans = append([]gpu.Fan{{Location: fanName(0)}}, d.Fans...)
	}
	d.Fans[0].Speed = gpu.Some(int64(v.Unsigned))
}

// maxRevolutions is more than any fan has in a minute.
const maxRevolutions = 60_000
