// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import "github.com/otelgpu/gpureceiver/internal/gpu"

// dropSentinels removes numbers that the tool prints if the driver has no value. The guest of a vGPU prints 0 for its temperature, its
// clocks and their limits; no GPU has a clock limit of 0, so that such a limit shows that the other zeros are not values either.
func dropSentinels(d *gpu.Device) {
	zeros := false
	for i := range d.Clocks {
		if c := &d.Clocks[i]; c.Limit == gpu.Some(0.0) {
			c.Limit, zeros = gpu.Opt[float64]{}, true
		}
	}
	for i := range d.Clocks {
		if c := &d.Clocks[i]; zeros && c.Speed == gpu.Some(0.0) {
			c.Speed = gpu.Opt[float64]{}
		}
	}
	for sensor := range d.Temperature {
		t := &d.Temperature[sensor]
		switch v, _ := t.Get(); {
		case v == -1, v == 255, v == 0 && (zeros || gpu.Sensor(sensor) == gpu.SensorMemory):
			*t = gpu.Opt[float64]{}
		}
	}
	dropMeansOfNothing(d)
	if !hasBanks(d) {
		d.MemoryBanks = [gpu.NumSpares]gpu.Opt[int64]{}
	}
	for _, width := range []*gpu.Opt[int64]{&d.PCIe.Width, &d.PCIe.WidthLimit} {
		if *width == gpu.Some(int64(65535)) {
			*width = gpu.Opt[int64]{}
		}
	}
}

// hasBanks reports whether a histogram of banks counts any. A GPU that does not remap rows has an empty histogram.
func hasBanks(d *gpu.Device) bool {
	for _, o := range d.MemoryBanks {
		if n, _ := o.Get(); n > 0 {
			return true
		}
	}
	return false
}
